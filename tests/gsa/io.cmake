# Files and words: checkpoints, safetensors, hashes, the vocabulary.
gsa_suite(NAME hash SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/test_hash.c LINK gsa_core CASES vectors pieces)
gsa_suite(NAME safetensors
  SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/test_safetensors.c ${CMAKE_CURRENT_SOURCE_DIR}/scratch.c LINK gsa_core
  CASES golden round_trip damage malformed faults)
gsa_suite(NAME safetensors_writer
  SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/test_safetensors_writer.c ${CMAKE_CURRENT_SOURCE_DIR}/scratch.c LINK gsa_core
  CASES refused)
gsa_suite(NAME checkpoint
  SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/test_checkpoint.c ${CMAKE_CURRENT_SOURCE_DIR}/marked.c
    ${CMAKE_CURRENT_SOURCE_DIR}/scratch.c
  LINK gsa_core CASES finding)
gsa_suite(NAME checkpoint_saving
  SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/test_checkpoint_saving.c ${CMAKE_CURRENT_SOURCE_DIR}/marked.c
    ${CMAKE_CURRENT_SOURCE_DIR}/scratch.c
  LINK gsa_core CASES written leftovers)
gsa_suite(NAME checkpoint_faults
  SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/test_checkpoint_faults.c ${CMAKE_CURRENT_SOURCE_DIR}/marked.c
    ${CMAKE_CURRENT_SOURCE_DIR}/drawer.c ${CMAKE_CURRENT_SOURCE_DIR}/scratch.c
  LINK gsa_core CASES faults killed power_loss)
gsa_suite(NAME parameters_io
  SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/test_parameters_io.c ${CMAKE_CURRENT_SOURCE_DIR}/scratch.c
  LINK gsa_core gsa_test_backend
  CASES round_trip another_model faults)
gsa_suite(NAME vocabulary
  SOURCES ${CMAKE_CURRENT_SOURCE_DIR}/test_vocabulary.c ${CMAKE_CURRENT_SOURCE_DIR}/scratch.c LINK gsa_core
  CASES freezing words files many faults)

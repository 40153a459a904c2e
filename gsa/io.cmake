# Files and words: checkpoints, safetensors, hashes, the vocabulary.
target_sources(gsa_core PRIVATE
  ${CMAKE_CURRENT_SOURCE_DIR}/checkpoint.c
  ${CMAKE_CURRENT_SOURCE_DIR}/checkpoint_find.c
  ${CMAKE_CURRENT_SOURCE_DIR}/hash.c
  ${CMAKE_CURRENT_SOURCE_DIR}/manifest.c
  ${CMAKE_CURRENT_SOURCE_DIR}/parameters_io.c
  ${CMAKE_CURRENT_SOURCE_DIR}/safetensors.c
  ${CMAKE_CURRENT_SOURCE_DIR}/safetensors_header.c
  ${CMAKE_CURRENT_SOURCE_DIR}/safetensors_write.c
  ${CMAKE_CURRENT_SOURCE_DIR}/vocabulary.c)
gsa_hot(${CMAKE_CURRENT_SOURCE_DIR}/hash.c)

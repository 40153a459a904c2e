# The headers that are installed, and that compile alone as C11, C17 and C++17 (tests/headers). They
# are used as <gsa/NAME.h>, in the build tree as in an installed one: the floors are no folders there.
set(GSA_PUBLIC_HEADERS
  graph/batch.h graph/edges.h graph/instance.h graph/column.h graph/lexicon.h graph/plan.h graph/ready.h graph/schema.h graph/status.h graph/system.h graph/topology.h
  graph/utf8.h graph/write.h
  topologies/check.h topologies/pattern.h topologies/registry.h topologies/spec.h
  kernels/backend.h kernels/backend_calls.h kernels/cuda.h kernels/profile.h
  gsa/attend.h gsa/checkpoint.h gsa/context.h gsa/hash.h gsa/input.h gsa/model.h gsa/optimiser.h gsa/parameters.h gsa/safetensors.h gsa/schedule.h gsa/settings.h gsa/stack.h gsa/tape.h gsa/vocabulary.h
  train/driver.h train/driver/minibatch.h train/predictor.h train/task.h)
foreach(header IN LISTS GSA_PUBLIC_HEADERS)
  get_filename_component(name ${header} NAME)
  file(READ ${PROJECT_SOURCE_DIR}/${header} text)
  string(REGEX REPLACE "#include \"[a-z/]+/([a-z_0-9]+[.]h)\"" "#include \"\\1\"" text "${text}")
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/include/gsa/${name} CONTENT "${text}" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
endforeach()

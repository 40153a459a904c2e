# The headers that are installed, and that compile alone as C11, C17 and C++17 (tests/headers).
set(GSA_PUBLIC_HEADERS
  graph/batch.h graph/edges.h graph/instance.h graph/column.h graph/lexicon.h graph/plan.h graph/ready.h graph/schema.h graph/status.h graph/system.h graph/topology.h
  graph/utf8.h graph/write.h
  topologies/check.h topologies/pattern.h topologies/registry.h topologies/spec.h
  kernels/backend.h kernels/backend_calls.h kernels/cuda.h kernels/profile.h
  gsa/attend.h gsa/checkpoint.h gsa/hash.h gsa/input.h gsa/model.h gsa/optimiser.h gsa/parameters.h gsa/safetensors.h gsa/schedule.h gsa/settings.h gsa/stack.h gsa/tape.h gsa/vocabulary.h
  train/driver.h train/predictor.h)

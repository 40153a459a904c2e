# The sources of the backend that nvcc compiles for a device and a C++ compiler for the executor of tests/simt.
set(GSA_CUDA_SOURCES
  aggregate.cu aside.cu attend_forward.cu attend_ops.cu attend_rows.cu attend_sources.cu attend_sparse.cu backend.cu crf.cu elements.cu gemm.cu graph.cu kinds.cu
  loss.cu memory.cu optim.cu plan.cu pool.cu reduce.cu rows.cu)

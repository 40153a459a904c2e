# Options. AUTO means: use it when it is found; ON means: fail without it; OFF means: never look.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug" FORCE)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O3")    # assertions stay on: they guard contracts, not hot loops

set(GSA_COMMIT "" CACHE STRING "The commit that results name, where the sources are a copy without git")
option(GSA_WERROR "Warnings are errors" OFF)
set(GSA_LEVELS "avx2;avx512" CACHE STRING 
  "Levels of vectors that the cpu backend holds on x86-64: none, avx2, or avx2;avx512; on aarch64 NEON, unless none")
if(NOT GSA_LEVELS MATCHES "^(avx2(;avx512)?)?$")
  message(FATAL_ERROR "GSA_LEVELS is '${GSA_LEVELS}', expected nothing, avx2, or avx2;avx512")
endif()
option(GSA_EMULATED "With tests: the kernels of AVX-512 by means of AVX2, for machines that have AVX2 alone" ON)
option(GSA_CHECKED "Full O(E) scan of edges at every kernel entry" OFF)
option(GSA_FUZZ "Programs that fuzz each parser (tests/fuzz); wants clang" OFF)
set(GSA_SANITIZE "" CACHE STRING "Sanitizers for everything: address, undefined, address;undefined, thread")
foreach(part TESTS ONEDNN CBLAS IGRAPH MPI METIS CUDA NCCL ZLIB ZSTD)
  set(GSA_${part} AUTO CACHE STRING "AUTO, ON or OFF")
  set_property(CACHE GSA_${part} PROPERTY STRINGS AUTO ON OFF)
endforeach()

# What every target of the project compiles with.
add_library(gsa_flags INTERFACE)
target_include_directories(gsa_flags INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
target_compile_definitions(gsa_flags INTERFACE _POSIX_C_SOURCE=200809L GSA_VERSION="${PROJECT_VERSION}")
target_compile_options(gsa_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
  $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes> -Wvla -Wpointer-arith -Wcast-qual -ffp-contract=off $<$<BOOL:${GSA_WERROR}>:-Werror>)
if(NOT GSA_SANITIZE)  # programs of tests are set free
  target_compile_options(gsa_flags INTERFACE
    $<$<AND:$<COMPILE_LANGUAGE:C>,$<NOT:$<BOOL:$<TARGET_PROPERTY:GSA_LARGE_FRAMES>>>>:-Wframe-larger-than=65536>)
endif()
if(GSA_CHECKED)
  target_compile_definitions(gsa_flags INTERFACE GSA_CHECKED=1)
endif()
if(GSA_SANITIZE)
  string(REPLACE ";" "," gsa_sanitize "${GSA_SANITIZE}")
  target_compile_options(gsa_flags INTERFACE -fsanitize=${gsa_sanitize} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(gsa_flags INTERFACE -fsanitize=${gsa_sanitize})
endif()
if(GSA_FUZZ)
  target_compile_options(gsa_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:-fsanitize=fuzzer-no-link>)
endif()
# The preset asan compiles at -O1, which takes half as long; at -O2, in every sanitized build but a Debug one, are the files where sanitized tests
# spend their time.
#   gsa_hot(file...)
function(gsa_hot)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "$<$<AND:$<BOOL:${GSA_SANITIZE}>,$<NOT:$<CONFIG:Debug>>>:-O2>")
endfunction()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

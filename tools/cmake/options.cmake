# Options. AUTO means: use it when it is found; ON means: fail without it; OFF means: never look.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug" FORCE)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O3")    # assertions stay on: they guard contracts, not hot loops

option(BUILD_SHARED_LIBS "Build the libraries shared" OFF)
option(GSA_WERROR "Warnings are errors" OFF)
option(GSA_CHECKED "Full O(E) scan of edges at every kernel entry" OFF)
set(GSA_SANITIZE "" CACHE STRING "Sanitizers for everything: address, undefined, address;undefined, thread")
foreach(part TESTS ONEDNN CBLAS IGRAPH CUDA)
  set(GSA_${part} AUTO CACHE STRING "AUTO, ON or OFF")
  set_property(CACHE GSA_${part} PROPERTY STRINGS AUTO ON OFF)
endforeach()

# What every target of the project compiles with.
add_library(gsa_flags INTERFACE)
target_include_directories(gsa_flags INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
target_compile_definitions(gsa_flags INTERFACE _POSIX_C_SOURCE=200809L GSA_VERSION="${PROJECT_VERSION}")
target_compile_options(gsa_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
  $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes> -Wvla -Wpointer-arith -Wcast-qual -ffp-contract=off $<$<BOOL:${GSA_WERROR}>:-Werror>)
if(GSA_CHECKED)
  target_compile_definitions(gsa_flags INTERFACE GSA_CHECKED=1)
endif()
if(GSA_SANITIZE)
  string(REPLACE ";" "," gsa_sanitize "${GSA_SANITIZE}")
  target_compile_options(gsa_flags INTERFACE -fsanitize=${gsa_sanitize} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(gsa_flags INTERFACE -fsanitize=${gsa_sanitize})
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

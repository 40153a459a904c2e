# library.cmake - libgsa.so.0 and libgsa.a out of the floors' archives (gsa_archives): gsa_shared, gsa_archive.

# The symbol map: every function and table that a public header declares. Comments go first, because
# they name functions too; inline functions and macros are no symbols, and the map may name them.
set(names "")
foreach(header IN LISTS GSA_PUBLIC_HEADERS)
  file(READ ${PROJECT_SOURCE_DIR}/${header} text)
  string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" "" text "${text}")
  string(REGEX MATCHALL "gsa_[a-zA-Z0-9_]+[ \n]*\\(" calls "${text}")
  string(REGEX MATCHALL "extern const [^;]*;" tables "${text}")
  string(REGEX MATCHALL "gsa_[a-zA-Z0-9_]+[ ]*[\\[;,]" tables "${tables}")
  list(APPEND names ${calls} ${tables})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
endforeach()
list(TRANSFORM names REPLACE "[^a-zA-Z0-9_]" "")
list(REMOVE_DUPLICATES names)
list(SORT names)
list(JOIN names ";\n    " names)
file(CONFIGURE OUTPUT gsa.map CONTENT "GSA_0 {\n  global:\n    @names@;\n  local:\n    *;\n};\n" @ONLY)

# The command exports the same names: plugins of tasks call them (train/task.h).
file(CONFIGURE OUTPUT gsa.dynamic CONTENT "{\n    @names@;\n};\n" @ONLY)
if(TARGET gsa_command)
  target_link_options(gsa_command PRIVATE "LINKER:--dynamic-list=${CMAKE_CURRENT_BINARY_DIR}/gsa.dynamic")
  set_target_properties(gsa_command PROPERTIES LINK_DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/gsa.dynamic
    LINK_LIBRARY_OVERRIDE "WHOLE_ARCHIVE,gsa_core")
endif()

# The archive is the floors' members, joined by ar's own script.
set(gsa_archive ${PROJECT_BINARY_DIR}/libgsa.a)
list(TRANSFORM gsa_archives REPLACE "(.+)" "addlib $<TARGET_FILE:\\1>" OUTPUT_VARIABLE script)
list(JOIN script "\n" script)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/archive.mri CONTENT "create ${gsa_archive}\n${script}\nsave\nend\n")
add_custom_command(OUTPUT ${gsa_archive} COMMAND ${CMAKE_COMMAND} -E rm -f ${gsa_archive}
  COMMAND ${CMAKE_AR} -M < ${PROJECT_BINARY_DIR}/archive.mri
  DEPENDS ${gsa_archives} ${PROJECT_BINARY_DIR}/archive.mri VERBATIM)
add_custom_target(gsa_static ALL DEPENDS ${gsa_archive})

# The shared library is the archive, whole.
file(CONFIGURE OUTPUT library.c CONTENT "typedef int gsa_library; /* a library has a source; the archive holds the code */\n")
add_library(gsa_shared SHARED ${CMAKE_CURRENT_BINARY_DIR}/library.c)
add_dependencies(gsa_shared gsa_static)
target_link_libraries(gsa_shared PRIVATE gsa_flags -Wl,--whole-archive ${gsa_archive} -Wl,--no-whole-archive
  $<TARGET_NAME_IF_EXISTS:PkgConfig::GSA_JANSSON> $<TARGET_NAME_IF_EXISTS:PkgConfig::GSA_UTF8PROC>
  $<TARGET_NAME_IF_EXISTS:PkgConfig::GSA_ZLIB_PC> $<TARGET_NAME_IF_EXISTS:PkgConfig::GSA_ZSTD_PC>
  $<TARGET_NAME_IF_EXISTS:gsa_dep_onednn> $<TARGET_NAME_IF_EXISTS:gsa_dep_cblas>
  $<$<BOOL:${GSA_HAVE_ONEDNN}>:OpenMP::OpenMP_C> ${GSA_MATH_LIBRARY} ${CMAKE_DL_LIBS} Threads::Threads)
if(TARGET gsa_cuda)
  target_link_libraries(gsa_shared PRIVATE CUDA::cudart_static stdc++ rt)
endif()
target_link_options(gsa_shared PRIVATE "LINKER:--version-script=${CMAKE_CURRENT_BINARY_DIR}/gsa.map")
set_target_properties(gsa_shared PROPERTIES OUTPUT_NAME gsa VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  LINKER_LANGUAGE C LINK_DEPENDS "${CMAKE_CURRENT_BINARY_DIR}/gsa.map;${gsa_archive}")

# Installation: the library, headers under include/gsa, gsa.pc, a CMake package on top of it, the programs
# with their manual pages and completion, the recipes, the docs. tools/package makes Debian packages of it.
include(GNUInstallDirs)
if(NOT TARGET gsa_train)
  list(FILTER GSA_PUBLIC_HEADERS EXCLUDE REGEX "^train/")
endif()

foreach(header IN LISTS GSA_PUBLIC_HEADERS)
  get_filename_component(name ${header} NAME)
  install(FILES ${PROJECT_BINARY_DIR}/include/gsa/${name} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gsa)
endforeach()

# ---- libgsa: all floors in one shared library, which exports the names of the public headers alone, and
# in one archive. Programs of the project link the floors themselves, which are not installed.
set(gsa_floors gsa_core gsa_kernels gsa_topologies gsa_graph)
# What the archive needs (Libs.private). Not Requires.private: pkg-config --cflags would ask for packages that
# neither a plugin nor a program with the shared library needs.
set(gsa_pc_libs "")
if(TARGET gsa_train)
  list(PREPEND gsa_floors gsa_train gsa_unpack)
  string(APPEND gsa_pc_libs " -ljansson -lutf8proc")
  if(GSA_HAVE_ZLIB)
    string(APPEND gsa_pc_libs " -lz")
  endif()
  if(GSA_HAVE_ZSTD)
    string(APPEND gsa_pc_libs " -lzstd")
  endif()
endif()
set(gsa_archives ${gsa_floors})
if(TARGET gsa_cuda)
  list(APPEND gsa_archives gsa_cuda)
  string(APPEND gsa_pc_libs " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lstdc++ -lrt")
endif()
include(tools/cmake/library.cmake)
install(TARGETS gsa_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# The wheel of tools/python holds it under the name that programs are linked with.
install(FILES $<TARGET_FILE:gsa_shared> DESTINATION gsa/lib RENAME libgsa.so.${PROJECT_VERSION_MAJOR}
  COMPONENT python EXCLUDE_FROM_ALL)
install(FILES ${gsa_archive} DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(GSA_HAVE_ONEDNN)
  string(APPEND gsa_pc_libs " -ldnnl ${OpenMP_C_FLAGS}")
endif()
foreach(module openblas blis cblas blas)
  if(GSA_HAVE_CBLAS AND GSA_CBLAS_${module}_WORKS)
    list(JOIN GSA_CBLAS_${module}_LDFLAGS " " flags)
    string(APPEND gsa_pc_libs " ${flags}")
    break()
  endif()
endforeach()
string(APPEND gsa_pc_libs " -lm -ldl -lpthread")
file(RELATIVE_PATH gsa_pc_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(tools/cmake/gsa.pc.in gsa.pc @ONLY)
configure_file(tools/cmake/gsaConfig.cmake.in gsaConfig.cmake @ONLY)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/gsaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/gsa.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_BINARY_DIR}/gsaConfig.cmake ${PROJECT_BINARY_DIR}/gsaConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/gsa)

# ---- the programs, with the texts that they write themselves
function(gsa_install_program target name)
  install(TARGETS ${target} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/${name}.1 COMMAND ${target} ${ARGN} > ${PROJECT_BINARY_DIR}/${name}.1
    DEPENDS ${target} VERBATIM)
  add_custom_target(${target}_page ALL DEPENDS ${PROJECT_BINARY_DIR}/${name}.1)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endfunction()
if(TARGET gsa_mpi)
  install(TARGETS gsa_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/gsa)
endif()
if(TARGET gsa_command)
  gsa_install_program(gsa_command gsa help --man)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/gsa.bash COMMAND gsa_command help --completion > ${PROJECT_BINARY_DIR}/gsa.bash
    DEPENDS gsa_command VERBATIM)
  add_custom_target(gsa_completion ALL DEPENDS ${PROJECT_BINARY_DIR}/gsa.bash)
  install(FILES ${PROJECT_BINARY_DIR}/gsa.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME gsa)
  # Every recipe key on one page: in installations and in the site.
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/docs)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/docs/recipe-keys.md DEPENDS gsa_command VERBATIM
    COMMAND gsa_command help --recipe-keys > ${PROJECT_BINARY_DIR}/docs/recipe-keys.md)
  add_custom_target(gsa_recipe_keys_page ALL DEPENDS ${PROJECT_BINARY_DIR}/docs/recipe-keys.md)
  install(DIRECTORY train/recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/gsa FILES_MATCHING PATTERN "*.ini" PATTERN own EXCLUDE)
endif()
if(TARGET gsa_inspect)
  gsa_install_program(gsa_inspect gsa-inspect --man)
endif()
# README's links lead to docs/ beside it, so both are installed as they lie here.
install(FILES README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md CITATION.cff LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET gsa_command)
  install(FILES train/template/trend.c DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
  install(FILES ${PROJECT_BINARY_DIR}/docs/recipe-keys.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
endif()

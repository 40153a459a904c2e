# Installation: the libraries, headers under include/gsa, gsa.pc, a CMake package on top of it, the command with its manual page and
# completion; and the Debian package of all that (cpack -G DEB).
include(GNUInstallDirs)
include(tools/cmake/public_headers.cmake)
if(NOT TARGET gsa_train)
  list(FILTER GSA_PUBLIC_HEADERS EXCLUDE REGEX "^train/")
endif()

# Headers include each other by floor ("graph/edges.h"), so the floors are folders here too; <gsa/topology.h> is what plugins see.
foreach(header IN LISTS GSA_PUBLIC_HEADERS)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gsa/${folder} COMPONENT development)
endforeach()
install(FILES graph/topology.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/gsa COMPONENT development)

# ---- libraries, upper floors first, and what they need in turn: static archives leave that to whoever links them
set(gsa_installed gsa_core gsa_kernels gsa_topologies gsa_graph)
set(gsa_pc_requires "")
set(gsa_pc_libs "")
if(TARGET gsa_train)
  list(PREPEND gsa_installed gsa_train)
  list(APPEND gsa_pc_requires "jansson >= 2.10" libutf8proc)
endif()
install(TARGETS ${gsa_installed} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(library IN LISTS gsa_installed)
  string(APPEND gsa_pc_libs " -l${library}")
endforeach()
if(GSA_HAVE_ONEDNN)
  string(APPEND gsa_pc_libs " -ldnnl ${OpenMP_C_FLAGS}")
endif()
foreach(module openblas blis cblas blas)
  if(GSA_HAVE_CBLAS AND GSA_CBLAS_${module}_WORKS)
    list(APPEND gsa_pc_requires ${module})
    break()
  endif()
endforeach()
list(JOIN gsa_pc_requires ", " gsa_pc_requires)
string(APPEND gsa_pc_libs " -lm -ldl -lpthread")
file(RELATIVE_PATH gsa_pc_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(tools/cmake/gsa.pc.in gsa.pc @ONLY)
configure_file(tools/cmake/gsaConfig.cmake.in gsaConfig.cmake @ONLY)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/gsaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/gsa.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/gsaConfig.cmake ${PROJECT_BINARY_DIR}/gsaConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/gsa COMPONENT development)

# ---- the command, with the texts that it writes itself
if(TARGET gsa_command)
  install(TARGETS gsa_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/gsa.1 ${PROJECT_BINARY_DIR}/gsa.bash
    COMMAND gsa_command help --man > ${PROJECT_BINARY_DIR}/gsa.1
    COMMAND gsa_command help --completion > ${PROJECT_BINARY_DIR}/gsa.bash
    DEPENDS gsa_command VERBATIM)
  add_custom_target(gsa_texts ALL DEPENDS ${PROJECT_BINARY_DIR}/gsa.1 ${PROJECT_BINARY_DIR}/gsa.bash)
  install(FILES ${PROJECT_BINARY_DIR}/gsa.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${PROJECT_BINARY_DIR}/gsa.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME gsa)
  install(DIRECTORY train/recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/gsa FILES_MATCHING PATTERN "*.ini")
endif()
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# ---- cpack -G DEB
set(CPACK_PACKAGE_NAME gsa)
set(CPACK_PACKAGE_VENDOR "The gsa authors")
set(CPACK_PACKAGE_CONTACT "The gsa authors <gsa@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
include(CPack)

# The target `docs`: README.md, docs/ and the public headers as one site, build/docs/site/index.html. Needs doxygen and Python.
find_program(GSA_DOXYGEN doxygen)
find_program(GSA_PYTHON python3)
if(GSA_DOXYGEN AND GSA_PYTHON AND TARGET gsa_command)
  set(pages README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md)
  file(GLOB more RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.md)
  list(APPEND pages ${more})
  list(TRANSFORM GSA_PUBLIC_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE headers)
  list(TRANSFORM pages PREPEND ${PROJECT_SOURCE_DIR}/)
  list(JOIN headers " " headers)
  list(JOIN pages " " inputs)
  configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/Doxyfile.in ${PROJECT_BINARY_DIR}/docs/Doxyfile @ONLY)
  add_custom_target(docs DEPENDS ${PROJECT_BINARY_DIR}/docs/recipe-keys.md VERBATIM
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${PROJECT_BINARY_DIR}/docs/site
    COMMAND ${GSA_DOXYGEN} ${PROJECT_BINARY_DIR}/docs/Doxyfile
    COMMAND ${CMAKE_COMMAND} -E copy_directory ${PROJECT_SOURCE_DIR}/docs/pictures ${PROJECT_BINARY_DIR}/docs/site/pictures
    COMMAND ${CMAKE_COMMAND} -E copy_directory ${PROJECT_SOURCE_DIR}/docs/results ${PROJECT_BINARY_DIR}/docs/site/results
    COMMAND ${GSA_PYTHON} ${PROJECT_SOURCE_DIR}/tests/tools/site ${PROJECT_BINARY_DIR}/docs)
endif()

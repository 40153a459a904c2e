# cmake -DSOURCE=dir -DOUT=file [-DCOMMIT=id] -P commit.cmake: a C file that says which commit is built, written anew only where it says something else.
# COMMIT names it for a copy of the sources without git (tools/package). "unknown" without both, or where SOURCE is not the top of a checkout (an unpacked archive, perhaps inside another project's).
set(commit unknown)
find_program(git git)
if(COMMIT)
  set(commit ${COMMIT})
elseif(git)
  execute_process(COMMAND ${git} -C ${SOURCE} rev-parse --show-prefix OUTPUT_VARIABLE prefix RESULT_VARIABLE failed
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed AND prefix STREQUAL "")
    execute_process(COMMAND ${git} -C ${SOURCE} describe --always --dirty --exclude=* --abbrev=10 OUTPUT_VARIABLE said
      RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT failed AND said MATCHES "^[0-9a-f]+(-dirty)?$")
      set(commit ${said})
    endif()
  endif()
endif()
set(text "#include \"tools/command/verbs.h\"\n\nconst char *gsa_build(void)\n{\n    return \"${commit}\";\n}\n")
if(EXISTS ${OUT})
  file(READ ${OUT} before)
endif()
if(NOT before STREQUAL text)
  file(WRITE ${OUT} "${text}")
endif()

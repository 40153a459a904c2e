# cmake -DOUT=FILE.c -DFILES="a;b" -DHEADER=topology.h -DTABLE=gsa_template -P embed.cmake - writes the files into a C source, as the
# table TABLE of gsa_template_file that tools/HEADER declares.
set(arrays "")
set(table "")
set(number 0)
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "((0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,))" "\\1\n    " bytes "${bytes}")
  string(APPEND arrays "static const unsigned char file_${number}[] = {\n    ${bytes}\n};\n")
  string(APPEND table "    { \"${name}\", file_${number}, sizeof file_${number} },\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "/* Made by embed.cmake. */\n#include \"tools/${HEADER}\"\n\n${arrays}
const gsa_template_file ${TABLE}[] = {\n${table}};\nconst int ${TABLE}_files = ${number};\n")

# Fails unless the README holds the program's text, comments and all.
file(READ ${README} readme)
file(READ ${PROGRAM} program)
# The program's first line says where it is shown; the README needs no such.
string(REGEX REPLACE "^// The program of the README[^\n]*\n" "" program
       "${program}")
string(FIND "${readme}" "${program}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "README.md: expected the text of ${PROGRAM}")
endif()

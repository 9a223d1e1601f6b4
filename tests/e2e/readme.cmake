# Fails unless the README contains the program, including comments.
file(READ ${README} readme)
file(READ ${PROGRAM} program)
# The README omits the first line of the program.
string(REGEX REPLACE "^// The program in the README[^\n]*\n" "" program
       "${program}")
string(FIND "${readme}" "${program}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "README.md: expected the text of ${PROGRAM}")
endif()

# Run by `cmake --install`: writes the manual pages and the shell completion of
# the octet command. PROGRAM is the executable.
if(NOT EXISTS "${PROGRAM}")
  return()
endif()
set(share ${CMAKE_INSTALL_PREFIX}/share)
set(completions ${share}/bash-completion/completions)
set(pages ${share}/man/man1)
set(root "$ENV{DESTDIR}")
file(MAKE_DIRECTORY ${root}${completions} ${root}${pages})
execute_process(COMMAND ${PROGRAM} completion bash
  OUTPUT_FILE ${root}${completions}/octet COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${PROGRAM} man ${root}${pages}
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
list(APPEND CMAKE_INSTALL_MANIFEST_FILES ${completions}/octet)
file(GLOB written RELATIVE ${root}${pages} ${root}${pages}/octet*.1)
foreach(page IN LISTS written)
  list(APPEND CMAKE_INSTALL_MANIFEST_FILES ${pages}/${page})
endforeach()

// Checks the language version. Headers without other Octet includes start with
// this file, so that an older compiler reports the missing standard first.
#pragma once

#if __cplusplus < 202002L
#error "Octet needs C++20: compile with -std=c++20 or later"
#endif

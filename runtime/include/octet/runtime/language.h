// The language that everything here is written in. Headers that include no
// other of Octet's begin with this one: an older compiler's first message says
// what is missing.
#pragma once

#if __cplusplus < 202002L
#error "Octet needs C++20: compile with -std=c++20 or later"
#endif

#define OCTET_LANES 4
#define OCTET_TILE_REGISTERS 12
#define OCTET_TABLE kBaseline
#include "table.inl"

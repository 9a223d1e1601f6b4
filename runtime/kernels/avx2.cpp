#define OCTET_LANES 8
#define OCTET_TILE_REGISTERS 12
#define OCTET_TABLE kAvx2
#include "table.inl"

#define OCTET_LANES 16
#define OCTET_TILE_REGISTERS 28
#define OCTET_TABLE kAvx512
#include "table.inl"

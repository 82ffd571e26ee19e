#include "ceilings/table.h"

const MdCeiling md_ceilings_cuda[] = {{0}};

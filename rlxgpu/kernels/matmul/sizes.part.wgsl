/*/**/R"wgsl(*/
// The sizes of a product's matrices, and the distances of neighbours in them. A part of //#params.
const kM = 64u;
const kN = 64u;
const kK = 64u;            // as laid out: the largest number of products in a sum
const kARow = 64u;         // between neighbours along m in a
const kACol = 1u;          // between neighbours along k in a
const kBRow = 64u;         // between neighbours along k in b
const kBCol = 1u;          // between neighbours along n in b
//)wgsl"

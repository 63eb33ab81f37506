/*/**/R"wgsl(*/
// How the window lies on x: of three axes, the first ones of extent 1 where there are fewer. A part of //#params.
const kKernel0 = 1u;     const kKernel1 = 3u;     const kKernel2 = 3u;
const kStride0 = 1u;     const kStride1 = 1u;     const kStride2 = 1u;
const kDilation0 = 1u;   const kDilation1 = 1u;   const kDilation2 = 1u;
const kBefore0 = 0u;     const kBefore1 = 1u;     const kBefore2 = 1u;   // zeros before the first element
const kIn0 = 1u;         const kIn1 = 16u;        const kIn2 = 16u;
const kOut0 = 1u;        const kOut1 = 16u;       const kOut2 = 16u;
//)wgsl"

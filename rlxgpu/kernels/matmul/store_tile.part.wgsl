/*/**/R"wgsl(*/
  // Stores what this invocation has of the result, elements 16 apart in both directions: behind the loop over k.
  for (var i = 0u; i < kRowsEach; i++) {
    for (var j = 0u; j < kColsEach; j++) {
      let m = m0 + row + 16u * i;
      let n = n0 + col + 16u * j;
      if (m < kM && n < kN) { y_put((batch * kM + m) * kN + n, sums[i][j]); }
    }
  }
//)wgsl"

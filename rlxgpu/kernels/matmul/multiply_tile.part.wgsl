/*/**/R"wgsl(*/
    // Multiplies the blocks of both operands that a workgroup has staged in tile_a and tile_b: inside the loop over k.
    workgroupBarrier();
    for (var k = 0u; k < kTileK; k++) {
      var b_each : array<Acc, kColsEach>;  // all of it is written before it is read
      for (var j = 0u; j < kColsEach; j++) { b_each[j] = tile_b[k][col + 16u * j]; }
      for (var i = 0u; i < kRowsEach; i++) {
        let a_each = tile_a[k][row + 16u * i];
        for (var j = 0u; j < kColsEach; j++) { sums[i][j] += a_each * b_each[j]; }
      }
    }
    workgroupBarrier();  // the next step overwrites both blocks
//)wgsl"

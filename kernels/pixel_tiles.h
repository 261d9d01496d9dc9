// Tiles of the pixels of a product's result, for kernels that pack their inputs.
#pragma once

#include <algorithm>
#include <cstdint>

#include "products/problem.h"

namespace approx {

// `rows` output rows from `top` of `images` images from `image`.
struct PixelTile {
  int64_t image, images, top, rows;
};

// All output pixels of a problem in tiles of `rows` rows; a tile with all rows of an image has
// several images. The last tiles may be smaller.
class PixelTiles {
 public:
  PixelTiles(const Problem& p, int64_t rows, int64_t images)
      : images_in_all_(p.n),
        rows_in_all_(p.ho),
        rows_(std::clamp<int64_t>(rows, 1, p.ho)),
        images_(rows_ == p.ho ? std::clamp<int64_t>(images, 1, p.n) : 1),
        of_column_((p.ho + rows_ - 1) / rows_) {}

  // Size of the largest tile.
  int64_t rows() const { return rows_; }
  int64_t images() const { return images_; }

  int64_t count() const { return (images_in_all_ + images_ - 1) / images_ * of_column_; }
  PixelTile operator[](int64_t index) const {
    const int64_t image = index / of_column_ * images_, top = index % of_column_ * rows_;
    return {image, std::min(images_, images_in_all_ - image), top,
            std::min(rows_, rows_in_all_ - top)};
  }

 private:
  int64_t images_in_all_, rows_in_all_;
  int64_t rows_, images_;
  int64_t of_column_;  // tiles down an image
};

}  // namespace approx

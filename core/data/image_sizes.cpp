#include "core/data/image_sizes.h"

#include <algorithm>
#include <cmath>

namespace approx {
namespace {

constexpr int64_t kSmallGrowth = 4;

// The sizes of the first epochs, where the recipe has such.
void start_small(const Recipe& recipe, ImageSizes& sizes) {
  if (recipe.start_size != 0) {
    if (recipe.grow_until < recipe.grow_from) {
      throw usage_error("recipe.grow_until = {} is before grow_from = {}", recipe.grow_until,
                        recipe.grow_from);
    }
    sizes.start = recipe.start_size;
    sizes.grow_from = recipe.grow_from;
    sizes.grow_until = recipe.grow_until;
  } else if (recipe.grow_from != 0 || recipe.grow_until != 0) {
    throw usage_error("recipe.grow_from and grow_until need start_size, the size to grow from");
  }
}

// Pixels reflected at a border are of the image.
void check_reflection(const char* setting, int64_t pixels, int64_t height, int64_t width,
                      const std::string& dataset, const char* otherwise) {
  const int64_t shorter = std::min(height, width);
  if (pixels < shorter) return;
  throw usage_error(
      "recipe.{} = {}: an image of {}, {}x{}, has only {} pixels to reflect at a border; set {}",
      setting, pixels, dataset, height, width, shorter - 1, otherwise);
}

// Images of one size are trained on as they are, or smaller at first: another final size is another
// data set.
ImageSizes fixed_sizes(const Recipe& recipe, const DatasetOutline& dataset) {
  const auto refuse = [&](const char* key, const std::string& value) {
    return usage_error(
        "recipe.{} = {}: {} has images of one size, {}x{}; only photographs are "
        "cut and scaled",
        key, value, dataset.name, dataset.shape.height, dataset.shape.width);
  };
  const auto own = [&](int64_t size) {
    return size == 0 || (size == dataset.shape.height && size == dataset.shape.width);
  };
  if (!own(recipe.image_size)) throw refuse("image_size", std::to_string(recipe.image_size));
  if (!own(recipe.eval_size)) throw refuse("eval_size", std::to_string(recipe.eval_size));
  if (recipe.crop != CropKind::kPadded) throw refuse("crop", std::string(name(recipe.crop)));
  if (recipe.padding_mode == PaddingMode::kReflect) {
    check_reflection("crop_padding", recipe.crop_padding, dataset.shape.height, dataset.shape.width,
                     dataset.name, "padding_mode = zero or a smaller padding");
  }
  check_reflection("test_shift", recipe.test_shift, dataset.shape.height, dataset.shape.width,
                   dataset.name, "a smaller one");
  ImageSizes sizes = {.height = dataset.shape.height, .width = dataset.shape.width};
  sizes.growth = kSmallGrowth;
  if (recipe.start_size > sizes.height) {
    throw usage_error("recipe.start_size = {}: images of {} are {}x{} and only become smaller",
                      recipe.start_size, dataset.name, sizes.height, sizes.width);
  }
  if (recipe.start_size != 0) start_small(recipe, sizes);
  return sizes;
}

}  // namespace

int64_t ImageSizes::at_epoch(int64_t epoch) const {
  if (start == 0 || epoch >= grow_until) return height;
  if (epoch <= grow_from) return start;
  const double share =
      static_cast<double>(epoch - grow_from) / static_cast<double>(grow_until - grow_from);
  const double exact = static_cast<double>(start) + share * static_cast<double>(height - start);
  const auto rounded =
      static_cast<int64_t>(std::nearbyint(exact / static_cast<double>(growth))) * growth;
  return std::clamp(rounded, std::min(start, height), std::max(start, height));
}

std::vector<int64_t> ImageSizes::all() const {
  std::vector<int64_t> sizes = {height};
  if (start != 0) sizes.push_back(start);
  if (eval != 0) sizes.push_back(eval);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

ImageSizes image_sizes(const Recipe& recipe, const DatasetOutline& dataset) {
  if (!dataset.photographs) return fixed_sizes(recipe, dataset);
  if (recipe.crop == CropKind::kPadded && recipe.crop_padding > 0) {
    throw usage_error(
        "recipe.crop_padding = {}: {} has photographs, which are not padded; set "
        "recipe.crop = random_resized",
        recipe.crop_padding, dataset.name);
  }
  if (recipe.crop_scale_min > recipe.crop_scale_max) {
    throw usage_error("recipe.crop_scale_min = {} is above crop_scale_max = {}",
                      recipe.crop_scale_min, recipe.crop_scale_max);
  }
  ImageSizes sizes;
  sizes.height = sizes.width = recipe.image_size != 0 ? recipe.image_size : dataset.shape.height;
  sizes.eval = recipe.eval_size != 0 ? recipe.eval_size : sizes.height;
  check_reflection("test_shift", recipe.test_shift, sizes.eval, sizes.eval, dataset.name,
                   "a smaller one");
  start_small(recipe, sizes);
  return sizes;
}

}  // namespace approx

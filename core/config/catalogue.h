// Everything that can be run, as data: every method, schedule, network and data set with its
// declared parameters. Methods and networks live in libapproxtrain.so, which needs LibTorch. The
// build writes their part of the catalogue out and embeds it in the command-line program. Listing,
// completing, checking an experiment and planning a sweep therefore never load LibTorch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"
#include "products/product.h"
#include "products/rules.h"

namespace approx {

// The common part of every entry. `version` is raised when its results change for equal parameters;
// it is part of every run key.
struct EntryInfo {
  std::string name;
  std::string summary;   // one line
  std::string paper;     // "wang2019"; "" if there is no paper
  std::string paper_at;  // "Algorithm 1", "section 2.5"
  int64_t version = 1;
  std::vector<ParamSpec> params;
};

struct MethodInfo : EntryInfo {
  std::vector<Product> products;  // the products that the method can approximate

  // The products under each choice of the parameter kMode, in the order of the choices. Empty if
  // the method has no modes.
  static constexpr const char* kMode = "mode";
  struct Mode {
    std::string choice;
    std::vector<Product> products;
  };
  std::vector<Mode> products_of_mode;

  // Raised when its results change under bf16 and fp16 only. It is part of the keys of such runs
  // alone.
  int64_t half_version = 1;

  // The first version whose results differ from those of `version` by rounding alone, and in the
  // same way for `half_version`; 0: none. Reports use runs of such versions until there are new
  // ones, and say so (earlier_run_keys in core/config/run_key.h).
  int64_t rounding_since = 0, half_rounding_since = 0;
  // The first version whose runs count: `version` itself if no earlier one does.
  int64_t first_that_counts() const { return rounding_since > 0 ? rounding_since : version; }
  int64_t first_half_that_counts() const {
    return half_rounding_since > 0 ? half_rounding_since : half_version;
  }

  // The random control of this method, with settings of its own: "sdgp:rank=random". It chooses at
  // random what this method chooses by looking at operands. Parameters that both declare are this
  // method's. "" if the method chooses nothing.
  std::string random_twin;
  // Whether the data, not the parameters, decide how much the method keeps. The `ratio` of its
  // random_twin is then the share that runs of the method kept.
  bool twin_by_density = false;

  // The products that the method approximates with these parameters.
  const std::vector<Product>& products_with(const Params& given) const;

  // The parameter of methods that leave layers with few input channels exact.
  static constexpr const char* kMinChannels = "min_channels";
  // Whether the method stops the backward pass of whole residual branches (core/nn/branch.h). A
  // rule of such a method selects whole blocks.
  bool stops_blocks = false;

  // With these parameters, layers with fewer input channels than this are exact.
  int64_t least_channels(const Params& given) const;
};

// One convolution or linear layer, as schedules and tables see it.
struct LayerInfo {
  std::string name;   // dotted module path: "stage2.block1.conv1"
  std::string kind;   // "conv3x3", "conv1x1", "linear"
  int64_t index = 0;  // from 1; convolutions and linear layers are counted apart
  int64_t in_channels = 0, out_channels = 0;
  int64_t kernel = 1, stride = 1, padding = 0, groups = 1;
  int64_t in_size = 1, out_size = 1;  // height = width of its input and output maps
  int64_t parameters = 0;             // weights and bias
  int64_t macs = 0;                   // multiply-accumulates of one product for one example
  bool norm_follows = false;          // its output goes into a batch norm, alone or in a sum
  bool reads_images = false;          // its input has no gradient: no data gradient is computed
  bool frozen = false;  // its weight does not train: no weight gradient; every product is exact
  std::string block;    // the block whose residual branch it is in: "stage2_block1"; "": none
  bool is_conv() const { return kind != "linear"; }

  // Whether a training step computes that product.
  bool computes(Product product) const {
    if (product == Product::kDataGradient) return !reads_images;
    return product != Product::kWeightGradient || !frozen;
  }
};

struct NetworkInfo : EntryInfo {
  // For the default parameters and the input below.
  int64_t classes = 0, channels = 0, size = 0;
  int64_t parameters = 0, macs = 0;
  std::vector<LayerInfo> layers;  // in the order of the forward pass
  int64_t smallest = 1;           // side of the smallest image that its pooling allows

  // Throws Error(kUsage) if images of `side` x `side` are too small.
  void check_side(int64_t side) const;
};

// A batch source (core/selections/selection.h).
struct SelectionInfo : EntryInfo {
  // It keeps everything until it has seen each example once. A timing run is shorter than that.
  bool after_an_epoch = false;

  // The parameter of selections with a small network beside: its text, in which ( and ; stand for :
  // and ",", as in "small_cnn(width=8)".
  static constexpr const char* kProxy = "proxy";
  // The full text of that network; "" for selections without one. Throws Error(kUsage) for a text
  // that names none.
  std::string proxy_network(const Params& given) const;
};

struct StudyInfo : EntryInfo {
  std::vector<std::string> methods;  // those of a call that names none; empty: it takes no methods
};

struct Catalogue {
  std::vector<MethodInfo> methods;
  std::vector<NetworkInfo> networks;
  std::vector<StudyInfo> studies;
  std::vector<SelectionInfo> selections;
  // Kernel variants with a rule, one entry for each product that they compute. Variants for a GPU
  // are in the list if the build has kernels for one.
  std::vector<RuledVariant> ruled_variants;

  // The catalogue built into this program.
  static const Catalogue& embedded();

  // These throw Error(kUsage) that suggests the nearest name. Two methods are in every catalogue
  // without being listed, and approximate no product. "dense" is the exact computation. "mixed" is
  // the method of a run whose schedule names a method in every rule.
  const MethodInfo& method(std::string_view name) const;
  const NetworkInfo& network(std::string_view name) const;
  const SelectionInfo& selection(std::string_view name) const;

  // Checks `name:key=value,...` against the declaration of the method, network or selection.
  Params method_params(std::string_view text) const;
  Params network_params(std::string_view text) const;
  Params selection_params(std::string_view text) const;
};

void to_json(Json& json, const MethodInfo& info);
void to_json(Json& json, const NetworkInfo& info);
void to_json(Json& json, const StudyInfo& info);
void to_json(Json& json, const SelectionInfo& info);
void to_json(Json& json, const RuledVariant& variant);
void to_json(Json& json, const Catalogue& catalogue);
void from_json(const Json& json, Catalogue& catalogue);

}  // namespace approx

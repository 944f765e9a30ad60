// A C++ program that includes the header, and calls a kernel through it.
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "kgen.h"

namespace {

void check(kgen_status status)
{
    if (status != KGEN_OK)
        throw std::runtime_error(kgen_last_error());
}

using Bundle = std::unique_ptr<kgen_bundle, decltype(&kgen_close)>;

Bundle open(const std::string &path)
{
    kgen_bundle *bundle = nullptr;
    kgen_options options{};
    options.num_threads = 2;
    check(kgen_open(path.c_str(), &options, &bundle));
    return Bundle(bundle, kgen_close);
}

}  // namespace

int main(int count, char **words)
try {
    if (count != 2)
        return 2;
    const Bundle bundle = open(words[1]);
    kgen_kernel *relu = kgen_find_kernel(bundle.get(), "relu_7x1001_f32");
    std::vector<float> x(7 * 1001, -1.5F), out(x.size(), 7.0F);
    x[3] = 2.5F;
    std::vector<kgen_buffer> arguments{{x.data(), x.size() * sizeof(float)},
                                       {out.data(), out.size() * sizeof(float)}};
    std::thread caller([&] { check(kgen_run(relu, arguments.data(), arguments.size())); });
    caller.join();
    // An error is of the thread that made it.
    std::string other;
    std::thread failing([&] {
        kgen_run(relu, arguments.data(), 1);
        other = kgen_last_error();
    });
    failing.join();
    std::printf("%g %g %g [%s] [%s]\n", static_cast<double>(out[2]), static_cast<double>(out[3]),
                static_cast<double>(out.back()), other.c_str(), kgen_last_error());
    return 0;
} catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}

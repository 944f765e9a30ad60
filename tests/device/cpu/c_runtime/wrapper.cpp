// kgen.hpp: words[1] is a bundle of kernels, words[2] one of a program with an input x, words[3] one
// of a decoder with a state past.0.key of 2x12x8 f32. Without exceptions only the forms that take a
// status are there.
#include <cassert>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "kgen.hpp"

static std::vector<unsigned char> bytes_of(const char *path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

static void check_statuses(const char *kernels, const char *programs)
{
    kgen::Status status;
    const kgen::Bundle missing("missing.kgen", kgen_options(), status);
    assert(!missing && status && status.code() == KGEN_ERROR_NOT_FOUND);
    assert(status.message() == "missing.kgen: cannot read: No such file or directory; check the path");
    kgen::Bundle bundle(kernels, kgen_options(), status);
    assert(bundle && !status && status.message().empty());
    assert(!bundle.kernel("conjure", status) && status);
    const kgen::Kernel relu = bundle.kernel("relu_7x1001_f32", status);
    std::vector<float> x(7 * 1001, -1.5F), out(x.size(), 7.0F);
    x[3] = 2.5F;
    const std::vector<float> &constant = x;
    relu.run({constant, out}, status);
    assert(!status && out[2] == 0 && out[3] == 2.5F);
    relu.run({constant}, status);
    assert(status.message() == "relu_7x1001_f32: takes 2 arguments, got 1");
    x[3] = 4.5F;
    kgen::Call call = relu.prepare({kgen::Span<float>(x), {out.data(), out.size() * 4}}, status);
    call.run(status);
    assert(!status && out[3] == 4.5F);
    assert(!relu.prepare({x, x}, status) && status.code() == KGEN_ERROR_ARGUMENT);
    const kgen::Bundle other(std::move(bundle));
    assert(!bundle && other);

    const std::vector<unsigned char> memory = bytes_of(programs);
    const kgen::Bundle model(memory, kgen_options(), status);
    const kgen::Program program = model.program("", status);
    kgen::Session session = program.session(status);
    assert(!status && session);
    session.run(status);
    assert(status && status.message().find("input x was never set") != std::string::npos);
    session.set_input("x", std::vector<float>(3), status);
    assert(status.code() == KGEN_ERROR_ARGUMENT);
    session.set_input("x", std::vector<float>(kgen_input(program.get(), 0)->nbytes / 4, 1.0F), status);
    session.run(status);
    assert(!status);
    const char *name = kgen_output(program.get(), 0)->name;
    const kgen::Span<const float> result = session.output<float>(name, status);
    assert(!status && result.size_bytes() == kgen_output(program.get(), 0)->nbytes);
    assert(session.output<float>("x", status).empty() && status);
    assert(session.output_shape("x", status).empty() && status);
    assert(session.output_shape(name, status).size() == 2 && !status);
    assert(session.output<double>(name, status).empty() && status.code() == KGEN_ERROR_ARGUMENT);
    assert(status.message().find("is f32; read it as") != std::string::npos);
    assert(session.output<unsigned char>(name, status).size() == result.size_bytes() && !status);
    assert(session.profile(status).size() == kgen_num_steps(program.get()) && !status);
}

static void check_states(const char *decoder)
{
    kgen::Status status;
    const kgen::Bundle bundle(std::string(decoder), kgen_options(), status);
    kgen::Session session = bundle.program("", status).session(status);
    const std::string name = "past.0.key";
    std::vector<float> start(2 * 3 * 8, 5.0F), all(2 * 12 * 8, 7.0F);
    session.set_state(name, all, status);
    session.set_state_start(name, start, {2, 3, 8}, status);
    assert(!status);
    session.get_state(name, all, status);
    for (std::size_t i = 0; i < all.size(); i++)
        assert(all[i] == (i % 96 < 24 ? 5.0F : 0.0F));
    session.set_state_start(name, start, {2, 12, 8}, status);
    assert(status.message() ==
           "past.0.key: an array of this shape has 768 bytes, and the call gives 192");
    session.set_state_start(name, start, {3, 2, 8}, status);
    assert(status.message().find("has shape 3x2x8; expected 2x12x8") != std::string::npos);
    session.set_state_start("no", start, {2, 3, 8}, status);
    assert(status.code() == KGEN_ERROR_NOT_FOUND);
#if defined(KGEN_HPP_THROWS)
    session.set_state_start(name, std::vector<float>(2 * 8, 1.0F), {2, 1, 8});
    session.get_state(name, all);
    assert(all[7] == 1.0F && all[8] == 0);
#endif
}

#if defined(KGEN_HPP_THROWS)
template <class F> static std::string thrown(F f)
{
    try {
        f();
    } catch (const kgen::Error &error) {
        assert(error.code() != KGEN_OK);
        return error.what();
    }
    return "";
}

static void check_exceptions(const char *kernels, const char *programs)
{
    assert(thrown([] { kgen::Bundle("missing.kgen"); }) ==
           "missing.kgen: cannot read: No such file or directory; check the path");
    const kgen::Bundle bundle(kernels);
    const kgen::Kernel relu = bundle.kernel("relu_7x1001_f32");
    float x[7 * 1001] = {3}, out[7 * 1001] = {7};
    relu.run({x, out});
    assert(out[0] == 3 && out[1] == 0 && relu.num_arguments() == 2);
    assert(std::strcmp(relu.argument(1).name, "out") == 0);
    assert(thrown([&] { relu.run({x}); }) == "relu_7x1001_f32: takes 2 arguments, got 1");
    x[0] = 4;
    kgen::Call call = relu.prepare({x, out});
    call.run();
    assert(out[0] == 4);
    assert(thrown([&] { relu.pack(0, x); }).find("is not packed") != std::string::npos);
    const kgen::Bundle model(programs);
    kgen::Session session = model.program("main").session();
    assert(thrown([&] { session.run(); }).find("never set") != std::string::npos);
    assert(thrown([&] { session.output_shape("x"); }).find("is not an output") != std::string::npos);
    assert(thrown([&] { session.output<float>("x"); }).find("is not an output") != std::string::npos);
    assert(thrown([&] { model.program("other"); }) != "");
}
#endif

int main(int count, char **words)
{
    assert(count == 4);
    check_statuses(words[1], words[2]);
    check_states(words[3]);
#if defined(KGEN_HPP_THROWS)
    check_exceptions(words[1], words[2]);
#endif
    std::puts("done");
    return 0;
}

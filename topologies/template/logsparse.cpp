// logsparse - the plugin to copy, in C++17: the same pattern as logsparse.c, whose comments say what each part is for.
// C++17 has no designated initialisers: the structs are zeroed, then filled. No exception may leave a function that the host calls.
#include <gsa/topology.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace {

enum { CAUSAL, NEAR, LABELS, N_PARAMS };
const std::array<gsa_param, N_PARAMS> params{ {
    { "causal", GSA_BOOL, 0, 0, 1, nullptr, "1", "read itself and earlier tokens only" },
    { "near", GSA_INT, 0, 1, 1 << 16, nullptr, "1", "distance up to which every token is read" },
    { "labels", GSA_BOOL, 0, 0, 1, nullptr, "0", "learn one key vector for each distance and side" },
} };
enum { TOKEN };
enum { ATTEND, FFN };
constexpr std::int32_t POWERS = 31; // 2^0 .. 2^30

// The parameters' values with names; without .create, self is their array.
struct Settings {
    bool causal, labels;
    std::int64_t near;
    explicit Settings(const void *self)
    {
        const auto *p = static_cast<const gsa_value *>(self);
        causal = p[CAUSAL].i != 0, near = p[NEAR].i, labels = p[LABELS].i != 0;
    }
    std::int32_t side() const { return static_cast<std::int32_t>(near) + 1 + POWERS; }
};

void describe(const void *self, gsa_describer *d)
{
    const Settings s(self);
    d->promise(d, GSA_BY_LENGTH | (s.causal ? GSA_CAUSAL | GSA_PREFIX_STABLE : 0), GSA_NLOGN_EDGES);
    gsa_transformer_layer(d, s.labels ? GSA_KEY_VECTORS : GSA_NAMES_ONLY,
                          s.causal ? s.side() : 2 * s.side(), 0);
}

void emit(const void *self, const gsa_example *x, gsa_emitter *e)
{
    const Settings s(self);
    const std::int64_t n = x->length;
    for (std::int64_t i = 0; i < n; i++) {
        const gsa_node me = gsa_at(TOKEN, i);
        const std::int64_t left = std::min(i, s.near), ahead = s.causal ? 0 : n - 1 - i, right = std::min(ahead, s.near);
        e->run(e, ATTEND, gsa_at(TOKEN, i - left), left + 1, 1, me, static_cast<std::int32_t>(left), -1);
        e->run(e, ATTEND, gsa_at(TOKEN, i + 1), right, 1, me, s.side() + 1, 1);
        for (std::int32_t k = 1; k < POWERS; k++) {
            const std::int64_t far = std::int64_t{ 1 } << k;
            const std::int32_t rank = static_cast<std::int32_t>(s.near) + 1 + k;
            if (far > s.near && far <= i) gsa_edge(e, ATTEND, gsa_at(TOKEN, i - far), me, rank);
            if (far > s.near && far <= ahead) gsa_edge(e, ATTEND, gsa_at(TOKEN, i + far), me, s.side() + rank);
        }
    }
}

void label(const void *self, int phase, std::int32_t id, char *out, std::size_t size)
{
    const Settings s(self);
    const std::int64_t rank = id % s.side(), distance = rank <= s.near ? rank : std::int64_t{ 1 } << (rank - s.near - 1);
    if (phase != ATTEND || distance == 0) std::snprintf(out, size, "%s", phase == ATTEND ? "self" : "");
    else std::snprintf(out, size, "%+lld", static_cast<long long>(id < s.side() ? -distance : distance));
}

} // namespace

// By place, in the order of the header: abi, sizes, parameters; id, summary, reference; create, destroy, ...
const gsa_topology GSA_PLUGIN = {
    GSA_ABI,     sizeof(gsa_topology), sizeof(gsa_param), N_PARAMS,
    "logsparse", "itself, its neighbours, and steps that double", "Li et al. 2019", params.data(),
    nullptr,     nullptr,              describe,          emit,
    label,       nullptr,
};

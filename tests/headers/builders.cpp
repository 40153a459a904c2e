#include <gsa/topology.h>

constexpr gsa::kind relay("relay", GSA_MEAN_INPUT, 3);
static_assert(relay.struct_size == sizeof(gsa_kind) && relay.start == GSA_MEAN_INPUT);
static_assert(relay.learned == 3 && relay.name[0] == 'r' && relay.zero == 0);

constexpr gsa::phase up = gsa::phase("up", GSA_ATTEND, GSA_RELU_NORM, 2, 5).labelled(7, GSA_HEAD_BIAS);
static_assert(up.struct_size == sizeof(gsa_phase) && up.aggregate == GSA_ATTEND);
static_assert(up.update == GSA_RELU_NORM && up.destinations == 2 && up.sources == 5);
static_assert(up.labels == 7 && up.label_use == GSA_HEAD_BIAS && up.name[0] == 'u');
static_assert(up.when == 0 && up.empty == 0 && up.per_head == 0 && up.together == 0 && !up.weights);

void describe(const void *, gsa_describer *d)
{
    gsa::phase ffn("ffn", GSA_NONE, GSA_FFN, 1);
    ffn.when = GSA_ONCE;
    d->kind(d, gsa::kind("token", GSA_INPUT));
    d->phase(d, gsa::phase("attend", GSA_ATTEND, GSA_SUBLAYER, 1, 1).labelled(4));
    d->phase(d, ffn);
}

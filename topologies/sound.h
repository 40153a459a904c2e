/* sound.h - is a topology's struct what the ABI says? Checked once, when it enters a registry. */
#ifndef GSA_SOUND_H
#define GSA_SOUND_H
#include "graph/status.h"
#include "graph/topology.h"

/* Fixed fields first (abi, struct_size), so that no byte is read that the struct does not have.
 * Refuses: another abi, struct_size or param_stride too small, no describe or emit, destroy without
 * create, a malformed id, summary or reference, and for each parameter: a malformed, reserved or
 * repeated name, an unknown type, a range or a list of choices that holds nothing, no doc line, a
 * fallback that its own range refuses. */
gsa_status gsa_topology_sound(const gsa_topology *topology, gsa_error *error);

#endif

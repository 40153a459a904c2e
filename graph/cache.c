/* cache.c - instances by (schema, lengths, heads): a hash table whose entries also are in a list
 * by last use. Patterns are built outside the lock, so two threads may build the same one; the
 * first to come back wins. */
#include <pthread.h>
#include "graph/instance.h"
#include "graph/schema_parts.h"
#include "graph/system_parts.h"

enum { BUCKETS = 1024 };

typedef struct entry entry;
struct entry {
    const gsa_schema *schema;
    int32_t length, memory_length, heads;
    gsa_instance *instance;
    entry *next;          /* in the bucket */
    entry *newer, *older; /* in the list of use */
};

struct gsa_cache {
    const gsa_system *system;
    int64_t limit;
    pthread_mutex_t lock; /* guards all below */
    gsa_cache_counts counts;
    entry *newest, *oldest;
    entry *bucket[BUCKETS];
};

gsa_status gsa_cache_create(const gsa_system *system, int64_t byte_limit, gsa_cache **cache,
                            gsa_error *error)
{
    *cache = NULL;
    if (byte_limit < 0)
        return gsa_fail(error, GSA_ERR_ARGUMENT, "a cache of %lld bytes, expected at least 0",
                        (long long)byte_limit);
    gsa_cache *made = gsa_alloc_zero(system, 1, sizeof *made);
    if (!made) return gsa_out_of_memory(error, "cache", (int64_t)sizeof *made);
    made->system = gsa_system_or_default(system), made->limit = byte_limit;
    if (pthread_mutex_init(&made->lock, NULL) != 0) {
        gsa_release(system, made);
        return gsa_fail(error, GSA_ERR_MEMORY, "cache: no mutex can be made");
    }
    *cache = made;
    return GSA_OK;
}

static entry **bucket_of(gsa_cache *cache, const entry *key)
{
    uint64_t h = gsa_random((uint64_t)(uintptr_t)key->schema, (uint64_t)(uint32_t)key->length,
                            (uint64_t)(uint32_t)key->memory_length << 32 | (uint32_t)key->heads);
    return &cache->bucket[h % BUCKETS];
}

static void unlist(gsa_cache *cache, entry *e)
{
    *(e->newer ? &e->newer->older : &cache->newest) = e->older;
    *(e->older ? &e->older->newer : &cache->oldest) = e->newer;
}

static void list_newest(gsa_cache *cache, entry *e)
{
    e->newer = NULL, e->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = e;
    cache->newest = e;
}

/* The entry of the key, now the newest; or NULL. */
static entry *find(gsa_cache *cache, const entry *key)
{
    entry *e = *bucket_of(cache, key);
    while (e && (e->schema != key->schema || e->length != key->length ||
                 e->memory_length != key->memory_length || e->heads != key->heads))
        e = e->next;
    if (!e) return NULL;
    unlist(cache, e);
    list_newest(cache, e);
    return e;
}

static void drop(gsa_cache *cache, entry *e)
{
    entry **at = bucket_of(cache, e);
    while (*at != e) at = &(*at)->next;
    *at = e->next;
    unlist(cache, e);
    cache->counts.entries--;
    cache->counts.bytes -= gsa_instance_bytes(e->instance);
    gsa_instance_release(e->instance);
    gsa_release(cache->system, e);
}

static void insert(gsa_cache *cache, entry *e)
{
    entry **at = bucket_of(cache, e);
    e->next = *at, *at = e;
    list_newest(cache, e);
    cache->counts.entries++;
    cache->counts.bytes += gsa_instance_bytes(e->instance);
    for (; cache->counts.bytes > cache->limit; cache->counts.evictions++)
        drop(cache, cache->oldest);
}

/* Builds and, if no other thread was faster and it fits at all, keeps. */
static gsa_status build(gsa_cache *cache, const entry *key, const gsa_topology *topology,
                        const void *self, const gsa_example *example, const gsa_limits *limits,
                        gsa_instance **instance, gsa_error *error)
{
    gsa_example bare = { 0 }; /* who promised to need lengths only is shown lengths only */
    memcpy(&bare, example, example->struct_size < sizeof bare ? example->struct_size : sizeof bare);
    bare.text = NULL, bare.group = bare.memory_group = NULL, bare.draw = 0;
    entry *made = gsa_alloc(cache->system, 1, sizeof *made);
    if (!made) return gsa_out_of_memory(error, "cache", (int64_t)sizeof *made);
    *made = *key;
    const gsa_status status = gsa_instance_create(cache->system, key->schema, topology, self, &bare,
                                                  limits, 0, &made->instance, error);
    if (status != GSA_OK) {
        gsa_release(cache->system, made);
        return status;
    }
    *instance = gsa_instance_retain(made->instance);
    pthread_mutex_lock(&cache->lock);
    const int keep = !find(cache, key) && gsa_instance_bytes(made->instance) <= cache->limit;
    if (keep) insert(cache, made);
    pthread_mutex_unlock(&cache->lock);
    if (!keep) {
        gsa_instance_release(made->instance);
        gsa_release(cache->system, made);
    }
    return GSA_OK;
}

gsa_status gsa_cache_get(gsa_cache *cache, const gsa_schema *schema, const gsa_topology *topology,
                         const void *self, const gsa_example *example, const gsa_limits *limits,
                         gsa_instance **instance, gsa_error *error)
{
    *instance = NULL;
    const entry key = { .schema = schema,
                        .length = example->length,
                        .memory_length = example->memory_length,
                        .heads = example->heads };
    const int by_length = (schema->flags & GSA_BY_LENGTH) != 0;
    pthread_mutex_lock(&cache->lock);
    entry *hit = by_length ? find(cache, &key) : NULL;
    if (hit) *instance = gsa_instance_retain(hit->instance);
    *(hit ? &cache->counts.hits : &cache->counts.misses) += 1;
    pthread_mutex_unlock(&cache->lock);
    if (hit) return GSA_OK;
    if (!by_length)
        return gsa_instance_create(cache->system, schema, topology, self, example, limits, 0,
                                   instance, error);
    return build(cache, &key, topology, self, example, limits, instance, error);
}

void gsa_cache_forget(gsa_cache *cache, const gsa_schema *schema)
{
    pthread_mutex_lock(&cache->lock);
    for (entry *e = cache->newest, *older; e; e = older) {
        older = e->older;
        if (e->schema == schema) drop(cache, e);
    }
    pthread_mutex_unlock(&cache->lock);
}

gsa_cache_counts gsa_cache_count(gsa_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    const gsa_cache_counts counts = cache->counts;
    pthread_mutex_unlock(&cache->lock);
    return counts;
}

void gsa_cache_release(gsa_cache *cache)
{
    if (!cache) return;
    while (cache->newest) drop(cache, cache->newest);
    pthread_mutex_destroy(&cache->lock);
    gsa_release(cache->system, cache);
}

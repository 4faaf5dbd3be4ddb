// Monte Carlo with electrons: `mc_source` draws histories, `mc_photons` transports their photons and those that electrons made,
// `mc_electrons` electrons and positrons. Particles wait in queues between the kernels. src/transport is the same on the CPU.
//
// Every particle has its own random numbers and deposits are whole numbers of quanta, so that a dose depends neither on the order of
// particles nor on the sizes of launches. Threads take particles until none is left; rare events wait until several lanes of a warp
// have one.

#include "mc_electron.cuh"
#include "mc_photon.cuh"

// Lanes of a warp that wait for rare events, or that are over, before those that fly wait for them.
constexpr int LANES_WAITING = 6;
constexpr int LANES_OVER = 6;

// Deposits a contaminant electron along its ray (engine/histories/contaminant.rs).
__device__ inline void deposit_contaminant(const McRun& run, const Particle& electron)
{
    float from[3], direction[3], entry;
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        from[a] = electron.position_cm[a] * run.per_cm[a];
        direction[a] = electron.direction[a] * run.per_cm[a];
    }
    if (!within(run.size, from, direction, entry)) {
        return;
    }
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        from[a] = fminf(fmaxf(from[a] + entry * direction[a], 0.0f), (float)run.size[a]);
    }
    const float* row = run.electron_rows + run.electron_row_at[electron.bin];
    EvenWalk walk(run.size, from, direction);
    float depth = 0.0f, before = 0.0f, cm;
    int voxel;
    while (walk.pass(voxel, cm)) {
        depth += density_of(__ldg(run.voxels + voxel)) * cm;
        float x = sqrtf(depth * (1.0f / ROW_LAST_CM)) * (float)(ROW_NODES - 1);
        int node = min((int)x, ROW_NODES - 2);
        float share = fminf(between(row[node], row[node + 1], x - (float)node), 1.0f);
        deposit(run, voxel, __float2ull_rd(fmaxf((share - before) * electron.weight, 0.0f) + 0.5f));
        before = share;
        if (share >= 1.0f) {
            return;
        }
    }
}

// Photon of a history, at its entry into the lattice; false where there is none (engine/mc/cpu.rs).
__device__ inline bool begin_history(const McRun& run, unsigned long long history, unsigned n, float batch, McParticle& photon)
{
    Stream stream = stream_of(run.head, history);
    Particle particle = sample(run.head, stream, n, batch);
    if (particle.kind == ELECTRON) {
        if (particle.weight > 0.0f) {
            deposit_contaminant(run, particle);
        }
        return false;
    }
    float weight = particle.weight * WEIGHT_UNITS;
    float roulette = unit(stream.words(PLACE_DELIVERY).x);
    if (!(weight > 0.0f)) {
        return false;
    }
    if (weight < LEAST_WEIGHT) {
        if (roulette * LEAST_WEIGHT >= weight) {
            return false;
        }
        weight = LEAST_WEIGHT;
    } else {
        weight = floorf(weight + roulette);
    }
    photon.quanta = quanta_of(particle.energy_mev);
    photon.weight = (unsigned)weight;
    uint4 key = stream.words(ENGINE_PLACES);
    photon.key[0] = key.x;
    photon.key[1] = key.y;
    photon.charge = 0u;
    float begin = 0.0f, end = __int_as_float(0x7f800000);
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        float length = (float)run.size[a] * run.spacing_cm[a];
        float speed = fabsf(particle.direction[a]) < SLOWEST ? SLOWEST : particle.direction[a];
        float low = (0.0f - particle.position_cm[a]) / speed, high = (length - particle.position_cm[a]) / speed;
        begin = fmaxf(begin, fminf(low, high));
        end = fminf(end, fmaxf(low, high));
    }
    if (!(begin < end)) {
        return false;
    }
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        photon.direction[a] = particle.direction[a];
        photon.position_cm[a] = particle.position_cm[a] + begin * particle.direction[a];
    }
    return true;
}

__device__ inline void begin_flight(const McParticle& photon, Flight& flight)
{
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        flight.position_cm[a] = photon.position_cm[a];
        flight.direction[a] = photon.direction[a];
    }
    flight.quanta = photon.quanta;
    flight.weight = photon.weight;
    flight.draws = {photon.key[0], photon.key[1], 0u};
    flight.electron.quanta = 0u;
}

// Histories of a launch: the one numbered `begin` within its batch, and those behind it.
struct McHistories {
    unsigned long long first; // of the batch, in the run
    unsigned begin, count;
    float batch;
};

// Draws histories; their photons wait.
extern "C" __global__ void __launch_bounds__(256)
mc_source(const McRun run, const McHistories histories, const McQueue photons)
{
    unsigned item = blockIdx.x * blockDim.x + threadIdx.x;
    McParticle photon;
    if (item < histories.count) {
        unsigned n = histories.begin + item;
        if (begin_history(run, histories.first + n, n, histories.batch, photon)) {
            push(run, photons, photon);
        }
    }
}

// Transports photons until none waits; their electrons wait.
extern "C" __global__ void __launch_bounds__(256)
mc_photons(const McRun run, const McQueue photons, const McQueue electrons, unsigned* next)
{
    unsigned count = waiting(photons);
    if (count == 0u) {
        return;
    }
    WarpRun items = {0u, 0u}, places = {0u, 0u};
    Flight flight;
    flight.electron.quanta = 0u;
    int state = OVER;
    bool is_exhausted = false;
    while (true) {
        unsigned over = __ballot_sync(0xffffffffu, state == OVER && !is_exhausted);
        unsigned flies = __ballot_sync(0xffffffffu, state == FLIES);
        if (over != 0u && (__popc(over) >= LANES_OVER || flies == 0u)) {
            unsigned item = next_of(items, next, over);
            if (state == OVER && !is_exhausted) {
                is_exhausted = item >= count;
                if (!is_exhausted) {
                    begin_flight(taken(photons, item), flight);
                    state = flight.weight > 0u ? FLIES : OVER;
                }
            }
        }
        unsigned waits = __ballot_sync(0xffffffffu, state == WAITS);
        flies = __ballot_sync(0xffffffffu, state == FLIES);
        if (waits != 0u && (__popc(waits) >= LANES_WAITING || flies == 0u)) {
            if (state == WAITS) {
                state = interact_rarely(run, electrons, flight) ? FLIES : OVER;
            }
        }
        if (state == FLIES) {
            state = fly(run, flight);
        }
        unsigned emits = __ballot_sync(0xffffffffu, flight.electron.quanta > 0u);
        if (emits != 0u) {
            unsigned slot = next_of(places, electrons.count, emits);
            if (flight.electron.quanta > 0u) {
                put(run, electrons, slot, flight.electron);
                flight.electron.quanta = 0u;
            }
        }
        if (__ballot_sync(0xffffffffu, state != OVER || !is_exhausted) == 0u) {
            leave_empty(electrons, places);
            return;
        }
    }
}

// Electron or positron of a queue as it starts; false where it ends at once, or the place is empty.
__device__ inline bool begin_track(const McRun& run, const McQueue& photons, const McParticle& p, Track& track)
{
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        track.position_cm[a] = p.position_cm[a];
        track.direction[a] = p.direction[a];
        // The point of a particle made on a face may lie beyond it by the last bit.
        track.cell[a] = min(max((int)floorf(p.position_cm[a] * run.per_cm[a]), 0), run.size[a] - 1);
    }
    if (p.weight == 0u) {
        return false;
    }
    track.voxel = (track.cell[2] * run.size[1] + track.cell[1]) * run.size[0] + track.cell[0];
    track.word = __ldg(run.voxels + track.voxel);
    track.quanta = p.quanta;
    track.weight = p.weight;
    track.charge = p.charge;
    track.draws = {p.key[0], p.key[1], 0u};
    track.unscored = 0u;
    track.steps = 0u;
    uint4 words = track.draws.words();
    new_hinge(run, track, p.quanta, uniform(words.x));
    track.mean_free_paths = -__logf(uniform(words.y));
    if (track.quanta <= cut_off_of(run, track.word)) {
        end_track(run, photons, track);
        return false;
    }
    return true;
}

extern "C" __global__ void __launch_bounds__(128)
mc_electrons(const McRun run, const McQueue waiting_electrons, const McQueue electrons, const McQueue photons, unsigned* next)
{
    unsigned count = waiting(waiting_electrons);
    if (count == 0u) {
        return;
    }
    WarpRun items = {0u, 0u};
    Track track;
    int state = ENDED;
    bool is_exhausted = false;
    while (true) {
        unsigned ended = __ballot_sync(0xffffffffu, state == ENDED && !is_exhausted);
        unsigned goes = __ballot_sync(0xffffffffu, state == GOES);
        if (ended != 0u && (__popc(ended) >= LANES_OVER || goes == 0u)) {
            unsigned item = next_of(items, next, ended);
            if (state == ENDED && !is_exhausted) {
                is_exhausted = item >= count;
                if (!is_exhausted && begin_track(run, photons, taken(waiting_electrons, item), track)) {
                    state = GOES;
                }
            }
        }
        unsigned collides = __ballot_sync(0xffffffffu, state == COLLIDES);
        goes = __ballot_sync(0xffffffffu, state == GOES);
        if (collides != 0u && (__popc(collides) >= LANES_WAITING || goes == 0u)) {
            if (state == COLLIDES) {
                state = collide(run, electrons, photons, track);
            }
        }
        if (state == GOES) {
            state = step(run, photons, track);
            track.steps += 1u;
            if (track.steps > STEP_BUDGET && state != ENDED) {
                atomicAdd(&run.counters->stuck, 1u);
                end_track(run, photons, track);
                state = ENDED;
            }
        }
        if (__ballot_sync(0xffffffffu, state != ENDED || !is_exhausted) == 0u) {
            return;
        }
    }
}

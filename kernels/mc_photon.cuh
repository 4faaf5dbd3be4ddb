// Photons of Monte Carlo with electrons (transport/photon.rs, name for name).

#pragma once

#include "mc.cuh"

// Candidates of a pair's energy shares before equal shares are taken.
constexpr int PAIR_CANDIDATES = 1000;

// A photon on its way. It stands for `weight` times the splitting, its electrons for `weight` each.
struct Flight {
    float position_cm[3], direction[3];
    unsigned quanta, weight;
    Draws draws;
    int voxel;
    unsigned material;
    float process; // uniform draw that chooses the process
    float4 row;    // of the photon tables, at the collision
    bool is_real;  // and not a virtual collision of splitting
    McParticle electron; // of a collision, where it has energy: it goes into the queue when all lanes of the warp come by
};

__device__ inline float4 photon_at(const McRun& run, unsigned material, float mev)
{
    float fraction;
    int node = place<-7, 5, PHOTON_NODES>(mev, fraction);
    const float4* rows = run.tables.photon + material * PHOTON_NODES + node;
    return between(__ldg(rows), __ldg(rows + 1), fraction);
}

__device__ inline float majorant_per_cm(const McRun& run, bool is_heavy, float mev)
{
    float fraction;
    int node = place<-7, 5, PHOTON_NODES>(mev, fraction) + (is_heavy ? PHOTON_NODES : 0);
    return between(__ldg(run.tables.majorant_per_cm + node), __ldg(run.tables.majorant_per_cm + node + 1), fraction);
}

// Side by which a flight leaves the box in which its majorant holds (transport/majorants.rs).
struct BoxSide {
    float distance_cm, place_cm;
    int axis;
    bool is_of_grid; // nothing is behind it
    bool is_heavy;   // whether the box is
};

// A photon on a side is looked up this far ahead of it: more than single precision rounds at.
constexpr float AHEAD_CM = 5e-5f;

__device__ inline BoxSide side_ahead(const McRun& run, const float position_cm[3], const float direction[3])
{
    const McBlocks& blocks = run.blocks;
    int block[3];
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        float ahead = position_cm[a] + copysignf(AHEAD_CM, direction[a]);
        block[a] = min(max((int)floorf(ahead * blocks.per_cm[a]), 0), blocks.shape[a] - 1);
    }
    uint2 bounds = __ldg(blocks.boxes + (block[2] * blocks.shape[1] + block[1]) * blocks.shape[0] + block[0]);
    BoxSide side = {__int_as_float(0x7f800000), 0.0f, 0, true, (bounds.x >> 24) != 0u};
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        unsigned bound = (direction[a] > 0.0f ? bounds.y : bounds.x) >> (8 * a) & 0xffu;
        int voxels = min((int)bound * blocks.edge[a], run.size[a]);
        float place_cm = (float)voxels * run.spacing_cm[a];
        float distance = fmaxf(__fdividef(place_cm - position_cm[a], direction[a]), 0.0f);
        if (direction[a] != 0.0f && distance < side.distance_cm) {
            side.distance_cm = distance;
            side.place_cm = place_cm;
            side.axis = a;
            side.is_of_grid = voxels == 0 || voxels == run.size[a];
        }
    }
    return side;
}

// Makes the electron or positron of a collision, but absorbs an electron that would end at once.
__device__ inline McParticle charged(const McRun& run, const Flight& flight, unsigned charge, unsigned quanta,
                                     const float direction[3], uint2 key)
{
    unsigned cut_off = is_near_gas(__ldg(run.voxels + flight.voxel)) ? run.gas_cut_off : run.cut_off;
    if (charge == ELECTRON_CHARGE && quanta <= cut_off) {
        unsigned left = scored(run, flight.material, charge, mev_of(quanta), quanta);
        deposit(run, flight.voxel, (unsigned long long)left * flight.weight);
        quanta = 0u;
    }
    McParticle p = {{flight.position_cm[0], flight.position_cm[1], flight.position_cm[2]},
                    {direction[0], direction[1], direction[2]},
                    quanta,
                    flight.weight,
                    charge,
                    {key.x, key.y}};
    return p;
}

__device__ inline void absorb(const McRun& run, const Flight& flight)
{
    unsigned left = scored(run, flight.material, ELECTRON_CHARGE, mev_of(flight.quanta), flight.quanta);
    deposit(run, flight.voxel, (unsigned long long)left * flight.weight * run.splitting);
}

// Share of its energy that a photon keeps, bilinear in the quantiles.
__device__ inline float compton_share(const McRun& run, unsigned material, float mev, float u)
{
    float fraction;
    int node = place<-7, 3, COMPTON_ROWS>(mev, fraction);
    float position = u * (float)(COMPTON_COLUMNS - 1);
    int column = min((int)position, COMPTON_COLUMNS - 2);
    const float* row = run.tables.compton + ((int)material * COMPTON_ROWS + node) * COMPTON_COLUMNS + column;
    float low = between(__ldg(row), __ldg(row + COMPTON_COLUMNS), fraction);
    float high = between(__ldg(row + 1), __ldg(row + COMPTON_COLUMNS + 1), fraction);
    float y = between(low, high, position - (float)column);
    return __expf(-y * __logf(1.0f + mev * (2.0f / MASS_MEV)));
}

// Klein and Nishina's scattering with bound electrons; false where the photon ends.
__device__ inline bool scatter_compton(const McRun& run, Flight& flight)
{
    uint4 words = flight.draws.words();
    float mev = mev_of(flight.quanta), a = mev * (1.0f / MASS_MEV);
    float share = compton_share(run, flight.material, mev, uniform(words.x));
    unsigned scattered = min(quanta_of(mev * share), flight.quanta);
    float one_minus_cos = fminf(fmaxf(__fdividef(1.0f - share, a * share), 0.0f), 2.0f);
    float azimuth = TAU * uniform(words.y);
    float electron_cos = fminf((1.0f + a) * sqrtf(__fdividef(one_minus_cos, 2.0f + a * (2.0f + a) * one_minus_cos)), 1.0f);
    float direction[3] = {flight.direction[0], flight.direction[1], flight.direction[2]};
    deflect(direction, 1.0f - electron_cos, opposite(azimuth));
    flight.electron = charged(run, flight, ELECTRON_CHARGE, flight.quanta - scattered, direction, make_uint2(words.z, words.w));
    if (!flight.is_real) {
        return true;
    }
    flight.quanta = scattered;
    deflect(flight.direction, one_minus_cos, azimuth);
    if (scattered < run.photon_cut_off) {
        absorb(run, flight);
        return false;
    }
    return true;
}

// Density of the electron's share of a pair (particles/photon/pair.rs), not normalised.
__device__ inline float pair_density(float kappa, float common, float share)
{
    float least = 1.0f / kappa;
    if (share <= least || share >= 1.0f - least) {
        return 0.0f;
    }
    float b = 54.03f / (2.0f * kappa * share * (1.0f - share)), b2 = b * b;
    float arc = b * atanf(1.0f / b);
    float logarithm = log1pf(b2);
    float h = b2 * (4.0f - 4.0f * arc - 3.0f * log1pf(1.0f / b2));
    float phi1 = 7.0f / 3.0f - 2.0f * logarithm - 6.0f * arc - h + common;
    float phi2 = 11.0f / 6.0f - 2.0f * logarithm - 3.0f * arc + 0.5f * h + common;
    return fmaxf(2.0f * (0.5f - share) * (0.5f - share) * phi1 + phi2, 0.0f);
}

__device__ inline float pair_share(float mev, Draws& draws)
{
    float kappa = mev / MASS_MEV;
    float a = 8.0f / 137.035999f, a2 = a * a, root = sqrtf(2.0f / kappa);
    float coulomb = a2 * (1.0f / (1.0f + a2) + 0.202059f - 0.03693f * a2);
    float low_energy = root * (-1.774f - 12.10f * a + 11.18f * a2
                               + root * (8.523f + 73.26f * a - 44.41f * a2
                                         + root * (-13.52f - 121.1f * a + 96.41f * a2
                                                   + root * (8.946f + 62.05f * a - 63.41f * a2))));
    float common = 4.0f * logf(54.03f) - 4.0f * coulomb + low_energy;
    float least = 1.0f / kappa, bound = 1.6f * pair_density(kappa, common, 0.5f);
    for (int n = 0; n < PAIR_CANDIDATES / 2; ++n) {
        uint4 words = draws.words();
        float share = least + (1.0f - 2.0f * least) * uniform(words.x);
        if (uniform(words.y) * bound < pair_density(kappa, common, share)) {
            return share;
        }
        share = least + (1.0f - 2.0f * least) * uniform(words.z);
        if (uniform(words.w) * bound < pair_density(kappa, common, share)) {
            return share;
        }
    }
    return 0.5f;
}

// Speed over that of light.
__device__ inline float beta_of(float mev)
{
    float tau = mev / MASS_MEV;
    return sqrtf(tau * (tau + 2.0f)) / (tau + 1.0f);
}

// An electron and a positron; true where the photon was virtual and goes on.
__device__ inline bool produce_pair(const McRun& run, const McQueue& electrons, Flight& flight)
{
    float mev = mev_of(flight.quanta);
    // The table reaches below the threshold by one step of its grid.
    if (flight.quanta <= 2u * REST_QUANTA || mev <= 2.0f * MASS_MEV) {
        return true;
    }
    unsigned kinetic = flight.quanta - 2u * REST_QUANTA;
    unsigned electron = min(quanta_of(mev * pair_share(mev, flight.draws) - MASS_MEV), kinetic);
#pragma unroll
    for (unsigned charge = 0u; charge < 2u; ++charge) {
        unsigned quanta = charge == ELECTRON_CHARGE ? electron : kinetic - electron;
        uint4 words = flight.draws.words();
        float beta = beta_of(mev_of(quanta)), centred = 2.0f * uniform(words.x) - 1.0f;
        // 1 - (centred + beta)/(centred beta + 1) without cancellation.
        float one_minus_cos = (1.0f - centred) * (1.0f - beta) / (centred * beta + 1.0f);
        float direction[3] = {flight.direction[0], flight.direction[1], flight.direction[2]};
        deflect(direction, fminf(fmaxf(one_minus_cos, 0.0f), 2.0f), TAU * uniform(words.y));
        McParticle particle = charged(run, flight, charge, quanta, direction, make_uint2(words.z, words.w));
        if (particle.quanta > 0u || charge == POSITRON_CHARGE) {
            push(run, electrons, particle);
        }
    }
    return !flight.is_real;
}

// The electron takes the photon's energy, its binding included; true where the photon was virtual and goes on.
__device__ inline bool photoelectric(const McRun& run, Flight& flight)
{
    float mev = mev_of(flight.quanta);
    float gamma = mev / MASS_MEV + 1.0f, beta = beta_of(mev);
    float a = 1.0f / beta - 1.0f, b = 0.5f * beta * gamma * (gamma - 1.0f) * (gamma - 2.0f), a2 = a + 2.0f;
    float one_minus_cos, greatest = 2.0f * (1.0f / a + b);
    uint4 words;
    do {
        words = flight.draws.words();
        float u = uniform(words.x);
        one_minus_cos = 2.0f * a * (2.0f * u + a2 * sqrtf(u)) / (a2 * a2 - 4.0f * u);
    } while (uniform(words.y) * greatest >= (2.0f - one_minus_cos) * (1.0f / (a + one_minus_cos) + b));
    words = flight.draws.words();
    float direction[3] = {flight.direction[0], flight.direction[1], flight.direction[2]};
    deflect(direction, fminf(one_minus_cos, 2.0f), TAU * uniform(words.x));
    flight.electron = charged(run, flight, ELECTRON_CHARGE, flight.quanta, direction, make_uint2(words.y, words.z));
    return !flight.is_real;
}

// x^2 of an entry of the squared form factor, 1/Angstrom^2 (transport/tables/rayleigh.rs).
__device__ inline float form_factor_x2(int entry)
{
    return entry == 0 ? 0.0f : exp2f(2.0f * ((float)(entry - 1) * 0.125f - 10.0f));
}

__device__ inline void scatter_rayleigh(const McRun& run, Flight& flight)
{
    if (!flight.is_real) {
        return;
    }
    const float* table = run.tables.rayleigh + (int)flight.material * RAYLEIGH_ENTRIES;
    float backward = mev_of(flight.quanta) * (1e3f / 12.39841984f);
    float backward_x2 = backward * backward;
    float entry = (0.5f * log2f(backward_x2) + 10.0f) * 8.0f;
    int upper = min(max((int)floorf(fmaxf(entry, -1.0f)) + 2, 1), RAYLEIGH_ENTRIES - 1);
    float low_x2 = form_factor_x2(upper - 1);
    float part = fminf(fmaxf((backward_x2 - low_x2) / (form_factor_x2(upper) - low_x2), 0.0f), 1.0f);
    float share_below = between(table[upper - 1], table[upper], part);
    float one_minus_cos, cos;
    uint4 words;
    do {
        words = flight.draws.words();
        float target = uniform(words.x) * share_below;
        int low = 0, high = RAYLEIGH_ENTRIES;
        while (low < high) {
            int middle = (low + high) / 2;
            if (table[middle] <= target) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        int above = min(max(low, 1), RAYLEIGH_ENTRIES - 1);
        float step = table[above] - table[above - 1];
        float fraction = step > 0.0f ? (target - table[above - 1]) / step : 0.0f;
        float x2 = between(form_factor_x2(above - 1), form_factor_x2(above), fraction);
        one_minus_cos = 2.0f * fminf(x2 / backward_x2, 1.0f);
        cos = 1.0f - one_minus_cos;
    } while (uniform(words.y) >= 0.5f * (1.0f + cos * cos));
    deflect(flight.direction, one_minus_cos, TAU * uniform(words.z));
}

// Pairs, photoelectric absorption and Rayleigh scattering, which few collisions are; true where the photon goes on.
__device__ inline bool interact_rarely(const McRun& run, const McQueue& electrons, Flight& flight)
{
    if (flight.process < flight.row.z) {
        return produce_pair(run, electrons, flight);
    }
    if (flight.process < flight.row.w) {
        return photoelectric(run, flight);
    }
    scatter_rayleigh(run, flight);
    return true;
}

// Fate of a flight.
constexpr int FLIES = 0, WAITS = 1, OVER = 2;

// One flight against the majorant, and where it ends in a collision by Compton, that.
__device__ inline int fly(const McRun& run, Flight& flight)
{
    float mev = mev_of(flight.quanta);
    BoxSide side = {__int_as_float(0x7f800000), 0.0f, 0, true, true};
    if (run.blocks.boxes != nullptr) {
        side = side_ahead(run, flight.position_cm, flight.direction);
    }
    float majorant = majorant_per_cm(run, side.is_heavy, mev);
    uint4 words = flight.draws.words();
    float distance = __fdividef(-__logf(uniform(words.x)), majorant * (float)run.splitting);
    bool leaves = side.distance_cm < distance;
#pragma unroll
    for (int a = 0; a < 3; ++a) {
        flight.position_cm[a] += flight.direction[a] * fminf(distance, side.distance_cm);
        // The point lies on the side exactly: the box ahead is the next.
        if (leaves && a == side.axis) {
            flight.position_cm[a] = side.place_cm;
        }
    }
    if (leaves) {
        return side.is_of_grid ? OVER : FLIES;
    }
    int cell[3];
    flight.voxel = voxel_of(run, flight.position_cm, cell);
    if (flight.voxel < 0) {
        return OVER;
    }
    unsigned voxel = __ldg(run.voxels + flight.voxel);
    float density = density_of(voxel);
    flight.material = class_of(voxel);
    flight.row = photon_at(run, flight.material, mev);
    if (uniform(words.y) * majorant >= density * flight.row.x) {
        return FLIES;
    }
    flight.is_real = run.splitting == 1u || uniform(words.z) * (float)run.splitting < 1.0f;
    flight.process = uniform(words.w);
    if (flight.process < flight.row.y) {
        return scatter_compton(run, flight) ? FLIES : OVER;
    }
    return WAITS;
}

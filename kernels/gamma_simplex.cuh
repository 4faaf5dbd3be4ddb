// Gamma's geometry: squared distances from a point to the simplices of a cell of doses (Ju 2008), that of
// engine/gamma/simplex.rs function for function, and of engine/gamma/cpu/vertex.rs: the same answer to rounding.

#pragma once

// Cells not nearer by this factor of the squared distance are skipped: 2e-6 of gamma.
#define NEARER 0.999996f
#define INFINITE __int_as_float(0x7f800000)

// An edge vector of a simplex along one axis of a cell or along several, seen from the point: its start in units of its length, its
// squared length in DTA and the inverse of that.
struct Way {
    float q, l, per_l;
};

// Two ways taken as one; `rest` is the squared distance to it in space.
__device__ inline Way along(Way a, Way b, float& rest)
{
    float l = a.l + b.l, per_l = __fdividef(1.0f, l), apart = a.q - b.q;
    rest = a.l * b.l * per_l * (apart * apart);
    return {(a.l * a.q + b.l * b.q) * per_l, l, per_l};
}

// Squared distance to an edge, `d0` and `d1` at its ends.
__device__ inline float edge(float rest, Way a, float d0, float d1)
{
    float e = d1 - d0, gain = e * a.per_l;
    float s = __fdividef(fmaf(-e, a.q, d0), fmaf(e, gain, 1.0f));
    float t = __saturatef(-fmaf(s, gain, a.q));
    float way = t + a.q, dose = fmaf(e, t, d0);
    return fmaf(dose, dose, fmaf(a.l * way, way, rest));
}

// ... to the plane of a triangle where its foot lies inside, else infinite.
__device__ inline float triangle(float rest, Way a, Way b, float d0, float d1, float d2)
{
    float ea = d1 - d0, eb = d2 - d1, ga = ea * a.per_l, gb = eb * b.per_l;
    float off = fmaf(-ea, a.q, fmaf(-eb, b.q, d0));
    float s = __fdividef(off, fmaf(ea, ga, fmaf(eb, gb, 1.0f)));
    float ta = -fmaf(s, ga, a.q), tb = -fmaf(s, gb, b.q);
    return ta <= 1.0f && ta >= tb && tb >= 0.0f ? fmaf(off, s, rest) : INFINITE;
}

// ... to the hyperplane of a tetrahedron; `inside` infinite where its foot is not.
__device__ inline float tetrahedron(Way a, Way b, Way c, float d0, float d1, float d2, float d3, float& inside)
{
    float ea = d1 - d0, eb = d2 - d1, ec = d3 - d2;
    float ga = ea * a.per_l, gb = eb * b.per_l, gc = ec * c.per_l;
    float off = fmaf(-ea, a.q, fmaf(-eb, b.q, fmaf(-ec, c.q, d0)));
    float s = __fdividef(off, fmaf(ea, ga, fmaf(eb, gb, fmaf(ec, gc, 1.0f))));
    float ta = -fmaf(s, ga, a.q), tb = -fmaf(s, gb, b.q), tc = -fmaf(s, gc, c.q), square = off * s;
    inside = ta <= 1.0f && ta >= tb && tb >= tc && tc >= 0.0f ? fminf(inside, square) : inside;
    return square;
}

// Lowers `best` to the squared distance to a cell, where that is less: to all its simplices, without a branch.
__device__ inline void cell(Way x, Way y, Way z, const float d[8], float& best)
{
    float inside = INFINITE;
    float nearest = tetrahedron(x, y, z, d[0], d[1], d[3], d[7], inside);
    nearest = fminf(nearest, tetrahedron(x, z, y, d[0], d[1], d[5], d[7], inside));
    nearest = fminf(nearest, tetrahedron(y, x, z, d[0], d[2], d[3], d[7], inside));
    nearest = fminf(nearest, tetrahedron(y, z, x, d[0], d[2], d[6], d[7], inside));
    nearest = fminf(nearest, tetrahedron(z, x, y, d[0], d[4], d[5], d[7], inside));
    nearest = fminf(nearest, tetrahedron(z, y, x, d[0], d[4], d[6], d[7], inside));
    best = fminf(best, inside);
    if (nearest >= best * NEARER) {
        return;
    }
    float x0 = x.l * (x.q * x.q), x1 = x.l * ((1.0f + x.q) * (1.0f + x.q));
    float y0 = y.l * (y.q * y.q), y1 = y.l * ((1.0f + y.q) * (1.0f + y.q));
    float z0 = z.l * (z.q * z.q), z1 = z.l * ((1.0f + z.q) * (1.0f + z.q));
    float off_xy, off_xz, off_yz, off_xyz;
    Way xy = along(x, y, off_xy), xz = along(x, z, off_xz), yz = along(y, z, off_yz), xyz = along(xy, z, off_xyz);
    auto face = [&](float rest, Way a, Way b, int v0, int v1, int v2) {
        best = fminf(best, triangle(rest, a, b, d[v0], d[v1], d[v2]));
    };
    face(z0, x, y, 0, 1, 3), face(z0, y, x, 0, 2, 3), face(z1, x, y, 4, 5, 7), face(z1, y, x, 4, 6, 7);
    face(y0, x, z, 0, 1, 5), face(y0, z, x, 0, 4, 5), face(y1, x, z, 2, 3, 7), face(y1, z, x, 2, 6, 7);
    face(x0, y, z, 0, 2, 6), face(x0, z, y, 0, 4, 6), face(x1, y, z, 1, 3, 7), face(x1, z, y, 1, 5, 7);
    face(off_xy, xy, z, 0, 3, 7), face(off_xz, xz, y, 0, 5, 7), face(off_yz, yz, x, 0, 6, 7);
    face(off_yz, x, yz, 0, 1, 7), face(off_xz, y, xz, 0, 2, 7), face(off_xy, z, xy, 0, 4, 7);
    auto side = [&](float rest, Way a, int v0, int v1) { best = fminf(best, edge(rest, a, d[v0], d[v1])); };
    side(y0 + z0, x, 0, 1), side(y1 + z0, x, 2, 3), side(y0 + z1, x, 4, 5), side(y1 + z1, x, 6, 7);
    side(x0 + z0, y, 0, 2), side(x1 + z0, y, 1, 3), side(x0 + z1, y, 4, 6), side(x1 + z1, y, 5, 7);
    side(x0 + y0, z, 0, 4), side(x1 + y0, z, 1, 5), side(x0 + y1, z, 2, 6), side(x1 + y1, z, 3, 7);
    side(off_xy + z0, xy, 0, 3), side(off_xy + z1, xy, 4, 7), side(off_xz + y0, xz, 0, 5), side(off_xz + y1, xz, 2, 7);
    side(off_yz + x0, yz, 0, 6), side(off_yz + x1, yz, 1, 7), side(off_xy + off_xyz, xyz, 0, 7);
}

// As cell, in a plane.
__device__ inline void square(Way x, Way y, const float d[4], float& best)
{
    float x0 = x.l * (x.q * x.q), x1 = x.l * ((1.0f + x.q) * (1.0f + x.q));
    float y0 = y.l * (y.q * y.q), y1 = y.l * ((1.0f + y.q) * (1.0f + y.q));
    float off_xy;
    Way xy = along(x, y, off_xy);
    best = fminf(best, triangle(0.0f, x, y, d[0], d[1], d[3]));
    best = fminf(best, triangle(0.0f, y, x, d[0], d[2], d[3]));
    best = fminf(best, fminf(edge(y0, x, d[0], d[1]), edge(y1, x, d[2], d[3])));
    best = fminf(best, fminf(edge(x0, y, d[0], d[2]), edge(x1, y, d[1], d[3])));
    best = fminf(best, edge(off_xy, xy, d[0], d[3]));
}

// Squared steps along the axes away from a voxel, up or down, and their inverses, those of their sums too: engine/gamma/cpu/vertex.rs.
struct Steps {
    float l[3], per[3], per_two[3], per_all;

    __device__ inline Steps(float x, float y, float z)
    {
        l[0] = x, l[1] = y, l[2] = z;
        per[0] = __fdividef(1.0f, x), per[1] = __fdividef(1.0f, y), per[2] = __fdividef(1.0f, z);
        per_two[0] = __fdividef(1.0f, y + z), per_two[1] = __fdividef(1.0f, x + z), per_two[2] = __fdividef(1.0f, x + y);
        per_all = __fdividef(1.0f, x + y + z);
    }

    // Squared projection of the falls of a chain of one step ...
    __device__ inline float one(int a, float fall) const
    {
        fall = fmaxf(fall, 0.0f);
        return fall * fall * per[a];
    }

    // ... of two ...
    __device__ inline float two(int a, int b, float fall_a, float fall_b) const
    {
        float mean = (fall_a + fall_b) * per_two[3 - a - b];
        float first = fmaxf(fmaxf(fall_a * per[a], mean), 0.0f);
        float second = fmaxf(fminf(fall_b * per[b], mean), 0.0f);
        return fmaf(first * first, l[a], second * second * l[b]);
    }

    // ... of three.
    __device__ inline float three(int a, int b, int c, float fall_a, float fall_b, float fall_c) const
    {
        float early = (fall_a + fall_b) * per_two[c], late = (fall_b + fall_c) * per_two[a];
        float all = (fall_a + fall_b + fall_c) * per_all, start = fmaxf(early, all);
        float first = fmaxf(fmaxf(fall_a * per[a], start), 0.0f);
        float second = fmaxf(fminf(start, fmaxf(fall_b * per[b], late)), 0.0f);
        float third = fmaxf(fminf(fall_c * per[c], fminf(late, all)), 0.0f);
        return fmaf(first * first, l[a], fmaf(second * second, l[b], third * third * l[c]));
    }

    // The longest, for each set of axes. `fall`: from the voxel to its neighbours (bit 0: x, 1: y, 2: z).
    __device__ inline void longest(const float fall[8], float most[8]) const
    {
        most[3] = most[5] = most[6] = most[7] = 0.0f;
#pragma unroll
        for (int a = 0; a < 3; ++a) {
            most[1 << a] = one(a, fall[1 << a]);
#pragma unroll
            for (int b = 0; b < 3; ++b) {
                if (b != a) {
                    int both = 1 << a | 1 << b;
                    float next = fall[both] - fall[1 << a];
                    most[both] = fmaxf(most[both], two(a, b, fall[1 << a], next));
                    most[7] = fmaxf(most[7], three(a, b, 3 - a - b, fall[1 << a], next, fall[7] - fall[both]));
                }
            }
        }
    }
};

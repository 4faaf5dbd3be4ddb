//! Small symmetric matrices: Cholesky's and Jacobi's decompositions.

/// Solves `a x = b` for a symmetric positive definite `a` (Cholesky); `None` for other matrices.
pub fn solve(a: &[Vec<f64>], b: &[f64]) -> Option<Vec<f64>> {
    let n = b.len();
    let mut l = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| l[i][k] * l[j][k]).sum();
            let remainder = a[i][j] - sum;
            if i == j {
                if !(remainder > 0.0 && remainder.is_finite()) {
                    return None;
                }
                l[i][i] = remainder.sqrt();
            } else {
                l[i][j] = remainder / l[j][j];
            }
        }
    }
    let mut x = b.to_vec();
    for i in 0..n {
        let sum: f64 = (0..i).map(|k| l[i][k] * x[k]).sum();
        x[i] = (x[i] - sum) / l[i][i];
    }
    for i in (0..n).rev() {
        let sum: f64 = (i + 1..n).map(|k| l[k][i] * x[k]).sum();
        x[i] = (x[i] - sum) / l[i][i];
    }
    Some(x)
}

/// Eigenvalues and eigenvectors (as columns) of a symmetric matrix, by Jacobi's rotations.
pub fn eigen(a: &[Vec<f64>]) -> (Vec<f64>, Vec<Vec<f64>>) {
    const SWEEPS: usize = 30;
    let n = a.len();
    let mut a = a.to_vec();
    let mut v: Vec<Vec<f64>> = (0..n)
        .map(|r| (0..n).map(|c| f64::from(u8::from(r == c))).collect())
        .collect();
    for _ in 0..SWEEPS {
        let off: f64 = (0..n)
            .flat_map(|i| (0..i).map(move |j| (i, j)))
            .map(|(i, j)| a[i][j] * a[i][j])
            .sum();
        let diagonal: f64 = (0..n).map(|i| a[i][i] * a[i][i]).sum();
        if off <= 1e-28 * diagonal {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut a, &mut v, p, q);
            }
        }
    }
    ((0..n).map(|i| a[i][i]).collect(), v)
}

fn rotate(a: &mut [Vec<f64>], v: &mut [Vec<f64>], p: usize, q: usize) {
    if a[p][q] == 0.0 {
        return;
    }
    let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let t = if theta == 0.0 { 1.0 } else { t };
    let c = (t * t + 1.0).sqrt().recip();
    let s = t * c;
    for k in 0..a.len() {
        let (x, y) = (a[k][p], a[k][q]);
        a[k][p] = c * x - s * y;
        a[k][q] = s * x + c * y;
    }
    for k in 0..a.len() {
        let (x, y) = (a[p][k], a[q][k]);
        a[p][k] = c * x - s * y;
        a[q][k] = s * x + c * y;
        let (x, y) = (v[k][p], v[k][q]);
        v[k][p] = c * x - s * y;
        v[k][q] = s * x + c * y;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decompositions_give_the_matrix_back() {
        let a = vec![
            vec![4.0, 1.0, -0.5],
            vec![1.0, 3.0, 0.7],
            vec![-0.5, 0.7, 2.0],
        ];
        let x = solve(&a, &[1.0, -2.0, 3.0]).unwrap();
        for (row, want) in a.iter().zip([1.0, -2.0, 3.0]) {
            let got: f64 = row.iter().zip(&x).map(|(a, x)| a * x).sum();
            assert!((got - want).abs() < 1e-12);
        }
        let (values, vectors) = eigen(&a);
        for i in 0..3 {
            for j in 0..3 {
                let back: f64 = (0..3)
                    .map(|k| vectors[i][k] * values[k] * vectors[j][k])
                    .sum();
                assert!((back - a[i][j]).abs() < 1e-12);
            }
        }
        assert_eq!(solve(&[vec![1.0, 2.0], vec![2.0, 1.0]], &[1.0, 1.0]), None);
    }
}

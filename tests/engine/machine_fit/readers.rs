//! Readers of measured curves on texts written by hand, and on any bytes.

use beamsight::files::measured::{
    MeasuredCurve, MeasuredFile, Scan, ScanAxis, curves_of, output_factors_of, read_curves,
};
use proptest::prelude::*;

const TABLE: &str = "# curve: pdd\n# field_mm: 100 x 100\n# ssd_mm: 900\ndepth_mm,dose\n0,50\n5,80\n15,100\n100,70\n200,40\n\
                     # curve: profile\n# axis: y\n# depth_mm: 100\n# field_mm: 50*80\n# ssd_mm: 900\n-60,1\n-30,50\n0,100\n30,50\n60,1\n";

const W2CAD: &str = "$NUMS 002\n$STOM\n%VERSION 02\n%DATE 30-06-2024\n%DETY CHA\n%BMTY PHO\n%FLSZ 040*060\n%TYPE OPD\n%AXIS Z\n%PNTS 6\n\
                     %STEP 010\n%SSD 1000\n< +000.0 +000.0 +000.0 +050.0 >\n< +000.0 +000.0 +010.0 +099.0 >\n< +000.0 +000.0 +020.0 +100.0 >\n\
                     < +000.0 +000.0 +050.0 +085.0 >\n< +000.0 +000.0 +100.0 +066.0 >\n<+000.0 +000.0 +200.0 +038.0>\n$ENOM\n\
                     $STOM\n%BMTY PHO\n%FLSZ 100*100\n%TYPE OPP\n%AXIS X\n%PNTS 5\n%SSD 1000\n%DPTH 050\n< -080.0 +000.0 +050.0 +002.0 >\n\
                     < -040.0 +000.0 +050.0 +099.0 >\n< +000.0 +000.0 +050.0 +100.0 >\n< +040.0 +000.0 +050.0 +099.0 >\n\
                     < +080.0 +000.0 +050.0 +002.0 >\n$ENOM\n$ENOF\n";

const RFA300: &str = ":MSR \t1\t # No. of measurement in file\n:SYS BDS 0 # Beam Data Scanner System\n#\n# RFA300 ASCII Measurement Dump ( BDS format )\n\
                      #\n%VNR 1.0\n%MOD \tRAT\n%TYP \tSCN\n%SCN \tPRO\n%FSZ \t400\t400\n%BMT \tPHO\t    6.0\n%SSD \t1000\n%WEG \t0\n%PRD \t500\n%PTS \t5\n\
                      %STS \t    0.0\t  210.0\t   50.0 # Start Scan values in mm ( X , Y , Z )\n#\t  X      Y      Z     Dose\n= \t    0.0\t  210.0\t   50.0\t   50.0\n\
                      = \t    0.0\t  100.0\t   50.0\t  104.0\n= \t    0.0\t    0.0\t   50.0\t  100.0\n= \t    0.0\t -100.0\t   50.0\t  104.0\n\
                      = \t    0.0\t -210.0\t   50.0\t   50.0\n:EOM  # End of Measurement\n:EOF # End of File\n";

const MCC: &str = "BEGIN_SCAN_DATA\n\tFORMAT=CC-Export V1.9\n\tBEGIN_SCAN  1\n\t\tMODALITY=X\n\t\tENERGY=6.00\n\t\tSSD=900.00\n\t\tWEDGE_ANGLE=0.00\n\
                   \t\tFIELD_INPLANE=200.00\n\t\tFIELD_CROSSPLANE=100.00\n\t\tSCAN_CURVETYPE=INPLANE_PROFILE\n\t\tSCAN_DEPTH=100.00\n\
                   \t\tSCAN_DIAGONAL=NOT_DIAGONAL\n\t\tBEGIN_DATA\n\t\t\t-120.00\t\t10.0E-03\t\t#1.0\n\t\t\t-50.00\t\t90.0E-03\n\t\t\t0.00\t\t100.0E-03\n\
                   \t\t\t50.00\t\t90.0E-03\n\t\t\t120.00\t\t10.0E-03\n\t\tEND_DATA\n\tEND_SCAN  1\n\tBEGIN_SCAN  2\n\t\tMODALITY=EL\n\
                   \t\tSCAN_CURVETYPE=PDD\n\tEND_SCAN  2\nEND_SCAN_DATA\n";

fn only(file: MeasuredFile) -> MeasuredCurve {
    let [curve] = <[MeasuredCurve; 1]>::try_from(file.curves).expect("one curve");
    curve
}

fn profile(axis: ScanAxis, depth_mm: f64) -> Scan {
    Scan::Profile { axis, depth_mm }
}

#[test]
fn each_form_is_read_as_it_is_written() {
    let file = curves_of(TABLE).expect("a table");
    assert_eq!(
        file.curves[0].points,
        [
            [0.0, 50.0],
            [5.0, 80.0],
            [15.0, 100.0],
            [100.0, 70.0],
            [200.0, 40.0]
        ]
    );
    assert_eq!(
        (
            file.curves[0].scan,
            file.curves[0].field_mm,
            file.curves[0].ssd_mm
        ),
        (Scan::Depth, [100.0; 2], 900.0)
    );
    assert_eq!(
        (file.curves[1].scan, file.curves[1].field_mm),
        (profile(ScanAxis::Inline, 100.0), [50.0, 80.0])
    );

    let file = curves_of(W2CAD).expect("w2CAD");
    assert_eq!(
        (
            file.curves[0].scan,
            file.curves[0].field_mm,
            file.curves[0].ssd_mm
        ),
        (Scan::Depth, [40.0, 60.0], 1000.0)
    );
    assert_eq!(
        (file.curves[0].points[5], file.curves.len()),
        ([200.0, 38.0], 2)
    );
    assert_eq!(
        (file.curves[1].scan, file.curves[1].points[4]),
        (profile(ScanAxis::Crossline, 50.0), [80.0, 2.0])
    );

    let file = curves_of(RFA300).expect("RFA300");
    assert!(file.remarks[0].contains("crossline"), "{:?}", file.remarks);
    let curve = only(file);
    assert_eq!(
        (curve.scan, curve.field_mm),
        (profile(ScanAxis::Crossline, 50.0), [400.0; 2])
    );
    assert_eq!(
        (curve.points[0], curve.points[1]),
        ([-210.0, 50.0], [-100.0, 104.0])
    );

    let file = curves_of(MCC).expect("mcc");
    assert!(
        file.remarks[0].contains("line 21") && file.remarks[0].contains("no photon"),
        "{:?}",
        file.remarks
    );
    let curve = only(file);
    assert_eq!(
        (curve.scan, curve.field_mm, curve.ssd_mm),
        (profile(ScanAxis::Inline, 100.0), [100.0, 200.0], 900.0)
    );
    assert_eq!(curve.points[3], [50.0, 0.09]);
}

/// Each wrong text, the line, and words of its message.
#[test]
fn wrong_lines_are_named() {
    for (text, from, to, line, words) in [
        (TABLE, "5,80", "5,eighty", 6, "'eighty' is no number"),
        (TABLE, "5,80", "5", 6, "a position and a dose"),
        (TABLE, "5,80", "5,nan", 6, "not possible"),
        (TABLE, "100 x 100", "100 x 1e9", 2, "5 to 400"),
        (
            TABLE,
            "# curve: pdd",
            "# curve: tmr",
            1,
            "neither pdd nor profile",
        ),
        (TABLE, "# ssd_mm: 900\ndepth_mm", "depth_mm", 1, "no SSD"),
        (TABLE, "# axis: y\n", "", 10, "axis: x"),
        (TABLE, "15,100\n100,70\n200,40\n", "", 1, "2 points"),
        (
            W2CAD,
            "%PNTS 6",
            "%PNTS 7",
            19,
            "6 points where its %PNTS says 7",
        ),
        (W2CAD, "+050.0 +085.0 >", "+050.0 >", 16, "not a point"),
        (W2CAD, "$ENOM\n$ENOF", "", 20, "cut short"),
        (
            RFA300,
            ":EOM  # End of Measurement\n:EOF # End of File\n",
            "",
            6,
            "cut short",
        ),
        (
            RFA300,
            "= \t    0.0\t  100.0\t   50.0\t  104.0",
            "= 1 2",
            19,
            "not a point",
        ),
        (
            MCC,
            "SCAN_DEPTH=100.00",
            "SCAN_DEPTH=deep",
            11,
            "'deep' is no number",
        ),
        (MCC, "\tEND_SCAN  1\n", "", 3, "no END_SCAN"),
    ] {
        assert!(text.contains(from), "{from}");
        let fault = curves_of(&text.replacen(from, to, 1)).expect_err(to);
        assert!(
            fault.line == line && fault.problem.contains(words),
            "'{to}': {fault:?}"
        );
    }
    let empty = curves_of("").expect_err("nothing");
    assert!(empty.problem.contains("without a curve"), "{empty:?}");
}

#[test]
fn curves_that_are_not_compared_are_left_out_by_name() {
    let electrons =
        curves_of(&W2CAD.replacen("%BMTY PHO", "%BMTY ELE", 1)).expect("the other curve");
    assert!(electrons.curves.len() == 1 && electrons.remarks[0].contains("no photon beam"));
    let diagonal = W2CAD.replace("< -080.0 +000.0", "< -080.0 -080.0");
    let file = curves_of(&diagonal).expect("the other curve");
    assert!(
        file.curves.len() == 1 && file.remarks[0].contains("diagonal"),
        "{:?}",
        file.remarks
    );
    let wedge = curves_of(&RFA300.replace("%WEG \t0", "%WEG \t30")).expect_err("nothing else");
    assert!(wedge.problem.contains("wedge"), "{wedge:?}");
    let oblong = curves_of(&RFA300.replace("400\t400", "400\t100")).expect_err("nothing else");
    assert!(oblong.problem.contains("not square"), "{oblong:?}");
}

#[test]
fn output_factors_are_read_and_refused() {
    let text = "# ssd_mm: 900\n# depth_mm: 100\n# reference_mm: 100\n# gy_per_mu: 0.0078\nx_mm,y_mm,factor\n50,50,0.93\n100,100,1.0\n";
    let factors = output_factors_of(text).expect("factors");
    assert_eq!(
        (
            factors.factors.len(),
            factors.gy_per_mu,
            factors.reference_mm
        ),
        (2, Some(0.0078), [100.0; 2])
    );
    for (from, to, line, words) in [
        ("50,50,0.93", "50,50", 6, "two sides and a factor"),
        ("0.93", "0.0", 6, "output factor"),
        ("# reference_mm: 100\n", "", 6, "reference_mm"),
        ("100,100,1.0", "100,100,0.9", 7, "must be 1"),
    ] {
        let fault = output_factors_of(&text.replacen(from, to, 1)).expect_err(to);
        assert!(
            fault.line == line && fault.problem.contains(words),
            "'{to}': {fault:?}"
        );
    }
}

#[test]
fn a_file_is_named_with_its_digest() {
    let path = std::env::temp_dir().join(format!("beamsight-measured-{}.csv", std::process::id()));
    std::fs::write(&path, b"123456789").unwrap();
    let error = read_curves(&path).expect_err("no curve").to_string();
    assert!(
        error.contains(&path.display().to_string()) && error.contains("line 1"),
        "{error}"
    );
    std::fs::write(&path, TABLE).unwrap();
    // Of the same bytes by Python's zlib.crc32.
    assert_eq!(
        read_curves(&path).expect("a table").digest,
        format!(
            "CRC-32 {:08x}, {} bytes",
            crc32(TABLE.as_bytes()),
            TABLE.len()
        )
    );
    std::fs::remove_file(&path).unwrap();
}

/// The polynomial division bit by bit; `123456789` has the check value cbf43926 (the catalogue of CRCs, CRC-32/ISO-HDLC).
fn crc32(bytes: &[u8]) -> u32 {
    let of = |bytes: &[u8]| {
        !bytes.iter().fold(!0_u32, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                if crc & 1 == 1 {
                    crc >> 1 ^ 0xedb8_8320
                } else {
                    crc >> 1
                }
            })
        })
    };
    assert_eq!(of(b"123456789"), 0xcbf4_3926);
    of(bytes)
}

proptest! {
    /// Any bytes are read or refused.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let text = String::from_utf8_lossy(&bytes);
        let _ = (curves_of(&text), output_factors_of(&text));
    }

    /// So is a sound text with a piece of another in it.
    #[test]
    fn damaged_texts_are_read_or_refused(
        which in 0_usize..4, at in 0.0..1.0_f64, cut in 0.0..0.3_f64, piece in "[-+0-9.eE <>=%$#:,\\nA-Z_]{0,30}"
    ) {
        let text = [TABLE, W2CAD, RFA300, MCC][which];
        let begin = (at * text.len() as f64) as usize;
        let end = (begin + (cut * text.len() as f64) as usize).min(text.len());
        let damaged = format!("{}{piece}{}", &text[..begin], &text[end..]);
        let _ = (curves_of(&damaged), output_factors_of(&damaged));
    }
}

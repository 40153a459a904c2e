/* golden_report.h - what scikit-learn, seqeval, sacreBLEU and NumPy say of the targets that
 * test_report.c makes. Printed by check_report.py golden. */
#ifndef GSA_TEST_GOLDEN_REPORT_H
#define GSA_TEST_GOLDEN_REPORT_H

/* clang-format off */
static const char golden_classes[] =
    "{\"classification_report\": {\"O\": {\"precision\": 0.7258064516129032, \"recall\": 0.32"
    "84671532846715, \"f1-score\": 0.45226130653266333, \"support\": 137.0}, \"b\": {\"preci"
    "sion\": 0.6842105263157895, \"recall\": 0.6046511627906976, \"f1-score\": 0.641975308"
    "6419753, \"support\": 86.0}, \"y\": {\"precision\": 0.6103896103896104, \"recall\": 0.68"
    "11594202898551, \"f1-score\": 0.6438356164383562, \"support\": 69.0}, \"z\": {\"precisi"
    "on\": 0.6265060240963856, \"recall\": 0.6190476190476191, \"f1-score\": 0.62275449101"
    "79641, \"support\": 84.0}, \"\\u00e4\": {\"precision\": 0.0, \"recall\": 0.0, \"f1-score\":"
    " 0.0, \"support\": 0.0}, \"accuracy\": 0.5212765957446809, \"macro avg\": {\"precision\""
    ": 0.5293825224829378, \"recall\": 0.4466650710825687, \"f1-score\": 0.47216534452619"
    "18, \"support\": 376.0}, \"weighted avg\": {\"precision\": 0.672928133710386, \"recall\""
    ": 0.5212765957446809, \"f1-score\": 0.5688981657392029, \"support\": 376.0}}, \"confu"
    "sion\": [[45, 11, 8, 13, 60], [6, 52, 11, 11, 6], [4, 5, 47, 7, 6], [7, 8, 11, 52"
    ", 6], [0, 0, 0, 0, 0]], \"labels\": [\"O\", \"b\", \"y\", \"z\", \"\\u00e4\"], \"targets\": 376"
    ", \"top_k\": {\"1\": 0.5212765957446809, \"2\": 0.6382978723404256, \"3\": 0.75265957446"
    "80851, \"5\": 1.0}, \"calibration\": {\"ece\": 0.20871116686834987, \"brier\": 0.7910770"
    "38154019, \"nll\": 1.8168245860491954, \"bins\": [{\"from\": 0.0, \"to\": 0.1, \"count\": "
    "0, \"confidence\": null, \"accuracy\": null}, {\"from\": 0.1, \"to\": 0.2, \"count\": 0, \""
    "confidence\": null, \"accuracy\": null}, {\"from\": 0.2, \"to\": 0.3, \"count\": 4, \"conf"
    "idence\": 0.27926865357295194, \"accuracy\": 0.75}, {\"from\": 0.3, \"to\": 0.4, \"count"
    "\": 41, \"confidence\": 0.3601605918204994, \"accuracy\": 0.5365853658536586}, {\"from"
    "\": 0.4, \"to\": 0.5, \"count\": 73, \"confidence\": 0.4520654209727415, \"accuracy\": 0."
    "6438356164383562}, {\"from\": 0.5, \"to\": 0.6, \"count\": 88, \"confidence\": 0.5525239"
    "618211706, \"accuracy\": 0.5681818181818182}, {\"from\": 0.6, \"to\": 0.7, \"count\": 62"
    ", \"confidence\": 0.6475012988555886, \"accuracy\": 0.4838709677419355}, {\"from\": 0."
    "7, \"to\": 0.8, \"count\": 53, \"confidence\": 0.751473265420124, \"accuracy\": 0.415094"
    "33962264153}, {\"from\": 0.8, \"to\": 0.9, \"count\": 40, \"confidence\": 0.848123761889"
    "3445, \"accuracy\": 0.425}, {\"from\": 0.9, \"to\": 1.0, \"count\": 15, \"confidence\": 0."
    "9389218613878747, \"accuracy\": 0.3333333333333333}]}}";
static const char golden_entities[] =
    "{\"LOC\": {\"precision\": 0.726027397260274, \"recall\": 0.6883116883116883, \"f1-score"
    "\": 0.7066666666666667, \"support\": 77}, \"ORG\": {\"precision\": 0.6744186046511628, "
    "\"recall\": 0.7837837837837838, \"f1-score\": 0.725, \"support\": 74}, \"PER\": {\"precis"
    "ion\": 0.65625, \"recall\": 0.6666666666666666, \"f1-score\": 0.6614173228346457, \"su"
    "pport\": 63}, \"micro avg\": {\"precision\": 0.6860986547085202, \"recall\": 0.71495327"
    "10280374, \"f1-score\": 0.7002288329519452, \"support\": 214}, \"macro avg\": {\"precis"
    "ion\": 0.6855653339704789, \"recall\": 0.7129207129207128, \"f1-score\": 0.6976946631"
    "671042, \"support\": 214}, \"weighted avg\": {\"precision\": 0.6876394221178839, \"reca"
    "ll\": 0.7149532710280374, \"f1-score\": 0.6996851620182992, \"support\": 214}}";
static const char golden_quantiles[] =
    "{\"0\": 0.014375972881409016, \"0.25\": 0.8222815895268853, \"0.5\": 1.791092234375613"
    ", \"0.75\": 2.6062710786804812, \"0.9\": 40.0, \"0.95\": 40.0, \"0.99\": 40.0, \"1\": 40.0"
    "}";
static const struct {
    const char *translation, *reference;
    double bleu;
} golden_bleu[] = {
    { "a b c d e", "a b c d e", 100.00000000000004 },
    { "a b c", "a b x", 55.03212081491043 },
    { "a", "a b c d", 4.9787068367863965 },
    { "x y z", "a b c", 0.0 },
    { "the cat sat on the mat today", "the cat sat on a mat", 43.47208719449914 },
};
/* clang-format on */

#endif

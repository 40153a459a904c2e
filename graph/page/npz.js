/* npz.js - arrays as NumPy's .npz: a zip, not compressed, of .npy files. */

const crcTable = Uint32Array.from({length: 256}, (_, n) => {
    for (let k = 0; k < 8; k++) n = n & 1 ? n >>> 1 ^ 0xedb88320 : n >>> 1;
    return n;
});
function crc32(bytes) {
    let crc = 0xffffffff;
    for (const byte of bytes) crc = crcTable[(crc ^ byte) & 255] ^ crc >>> 8;
    return ~crc >>> 0;
}

/* Texts of one width in UTF-32, as NumPy keeps them. */
function wideTexts(texts) {
    const letters = texts.map(text => [...text].map(c => c.codePointAt(0))),
          wide = letters.reduce((most, l) => Math.max(most, l.length), 1);
    const values = new Uint32Array(texts.length * wide);
    letters.forEach((l, i) => values.set(l, i * wide));
    return {type: '<U' + wide, values, count: texts.length};
}

function npy({type, values, count}) {
    const head = `{'descr': '${type}', 'fortran_order': False, 'shape': (${count},), }`,
          pad = 63 - (10 + head.length) % 64, text = head + ' '.repeat(pad) + '\n';
    const bytes = new Uint8Array(10 + text.length + values.byteLength);
    bytes.set([0x93, 78, 85, 77, 80, 89, 1, 0, text.length & 255, text.length >> 8]);
    for (let i = 0; i < text.length; i++) bytes[10 + i] = text.charCodeAt(i);
    bytes.set(
        new Uint8Array(values.buffer, values.byteOffset, values.byteLength), 10 + text.length);
    return bytes;
}

/* The fields that a local header and the directory share. */
function zipHeader(signature, name, bytes, size) {
    const head = new DataView(new ArrayBuffer(size)), at = signature === 0x04034b50 ? 4 : 6;
    head.setUint32(0, signature, true);
    if (at === 6) head.setUint16(4, 20, true);
    head.setUint16(at, 20, true);
    head.setUint16(at + 8, 0x21, true); /* the first of January 1980 */
    head.setUint32(at + 10, crc32(bytes), true);
    head.setUint32(at + 14, bytes.length, true);
    head.setUint32(at + 18, bytes.length, true);
    head.setUint16(at + 22, name.length, true);
    return head;
}

/* { name: {type, values, count} } as the parts of a Blob. */
function npz(arrays) {
    const parts = [], directory = [];
    let offset = 0, listed = 0;
    for (const [key, array] of Object.entries(arrays)) {
        const name = Uint8Array.from(key + '.npy', c => c.charCodeAt(0)), bytes = npy(array);
        const entry = zipHeader(0x02014b50, name, bytes, 46);
        entry.setUint32(42, offset, true);
        parts.push(zipHeader(0x04034b50, name, bytes, 30), name, bytes);
        directory.push(entry, name);
        offset += 30 + name.length + bytes.length;
        listed += 46 + name.length;
    }
    const end = new DataView(new ArrayBuffer(22));
    end.setUint32(0, 0x06054b50, true);
    end.setUint16(8, directory.length / 2, true);
    end.setUint16(10, directory.length / 2, true);
    end.setUint32(12, listed, true);
    end.setUint32(16, offset, true);
    return [...parts, ...directory, end];
}

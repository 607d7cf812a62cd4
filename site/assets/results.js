// Read the published results of a submission: JSON lines in a file that is compressed with gzip.

/** The results in a file, in its order. Some hosts unpack the file on the way. */
export const resultsOf = async (address) => {
  const reply = await fetch(address);
  if (!reply.ok) throw new Error(`${address}: ${reply.status}`);
  const bytes = new Uint8Array(await reply.arrayBuffer());
  const packed = bytes[0] === 0x1f && bytes[1] === 0x8b;
  const stream = new Blob([bytes]).stream();
  const text = await new Response(packed ? stream.pipeThrough(new DecompressionStream("gzip")) : stream).text();
  return text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
};

/** All bytes of a stream; `null` if there are more than `limit`, and then the rest is not read. */
export async function readWithin(
  stream: ReadableStream<Uint8Array> | null,
  limit: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const chunks: Uint8Array[] = []
  let size = 0
  const reader = stream?.getReader()
  for (;;) {
    const { done = true, value } = (await reader?.read()) ?? {}
    if (done || !value) return joined(chunks, size)
    size += value.length
    if (size > limit) {
      // Not awaited: the cancellation of one branch of a clone ends with the other branch.
      reader?.cancel().catch(() => {})
      return null
    }
    chunks.push(value)
  }
}

export function joined(chunks: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}

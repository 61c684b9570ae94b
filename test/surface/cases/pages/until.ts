interface Changing {
  subscribe(listener: () => void): () => void
}

/** Resolves as soon as the condition is true, which is looked at after every change. */
export async function until(changing: Changing, isTrue: () => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const look = () => isTrue() && resolve()
  const stop = changing.subscribe(look)
  look()
  await promise
  stop()
}

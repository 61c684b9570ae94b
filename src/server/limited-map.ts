/** Sets a key, and deletes the oldest key if the map has more than `max`. */
export function setLimited<K, V>(map: Map<K, V>, key: K, value: V, max: number): void {
  map.set(key, value)
  if (map.size <= max) return
  const [oldest] = map.keys()
  map.delete(oldest as K)
}

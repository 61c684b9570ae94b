/**
 * Opens an IndexedDB database with one object store. `onEnd`: it is closed, because the user deletes the data of the site,
 * or because a newer version or another tab opens or deletes the database.
 */
export async function openDatabase(
  name: string,
  store: string,
  onEnd: () => void,
  options?: IDBObjectStoreParameters,
): Promise<IDBDatabase> {
  const request = indexedDB.open(name, 1)
  request.onupgradeneeded = () => request.result.createObjectStore(store, options)
  return new Promise((resolve, reject) => {
    request.onerror = () => reject(request.error)
    request.onsuccess = () => {
      request.result.onclose = request.result.onversionchange = () => {
        request.result.close()
        onEnd()
      }
      resolve(request.result)
    }
  })
}

/** How the events of documents are named: as they are, or as the classes that Laravel would broadcast. */
export type EventNaming = 'plain' | 'laravel'

/**
 * @example
 * eventName('document.locked', 'laravel') // 'App\\Events\\DocumentLocked'
 */
export function eventName(event: string, naming: EventNaming): string {
  if (naming === 'plain' || !event.startsWith('document.')) return event
  const words = event.split(/[.-]/)
  return `App\\Events\\${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}`
}

export * from './documents.ts'
export * from './events.ts'
export { success } from './fields.ts'
export * from './leases.ts'
export * from './names.ts'
export * from './operations.ts'
export * from './options.ts'
export {
  formatFrame,
  PUSHER_CLOSE,
  PUSHER_PROTOCOL,
  type PusherFrame,
  parseFrame,
  parseJson,
  publicNameOf,
} from './pusher.ts'
export * from './pusher-api.ts'

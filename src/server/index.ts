export { type AuditLog, type AuditQuery, memoryAudit } from './audit.ts'
export { createLockServer, type LockServer, type LockServerOptions } from './create.ts'
export {
  type DocumentStore,
  type Grant,
  memoryDocuments,
  type SavedDocument,
  type Saving,
} from './documents.ts'
export {
  type Action,
  type Authorize,
  type Caller,
  defaultAuthorize,
  type Identify,
  type Identity,
} from './identity.ts'
export { jsonLog, type Log, type LogLevel } from './log.ts'
export type { Meter, Present } from './meter.ts'
export type { OnTelemetry } from './service.ts'
export {
  resolveSettings,
  SETTINGS,
  type SettingName,
  type Settings,
  type SettingsSource,
  settingsOf,
} from './settings.ts'

/** The control surface: the settings, the list, and its reset. */
import { useState } from 'react'
import { useSync, useSyncSettings } from '../../../src/react/index.ts'
import { type SyncSettings, settingsProblems } from '../../../src/sync/index.ts'
import { Checklist } from './checklist.tsx'
import type { Item } from './model.ts'
import { show } from './surface.tsx'

function Settings() {
  const sync = useSync<Item>()
  const stored = useSyncSettings()
  const [edited, setEdited] = useState<Partial<SyncSettings>>({})
  const [failure, setFailure] = useState('')
  const settings = { ...stored, ...edited }
  const problems = settingsProblems(settings)
  const edit = (fields: Partial<SyncSettings>) => setEdited({ ...edited, ...fields })
  return (
    <form
      aria-label="Settings"
      onSubmit={(event) => {
        event.preventDefault()
        sync.updateSettings(edited).then(
          // What was typed during the save stays in the form.
          () => setEdited((now) => (now === edited ? {} : now)),
          (error: Error) => setFailure(error.message),
        )
      }}
    >
      <label>
        <input
          type="checkbox"
          checked={settings.featureEnabled}
          onChange={(event) => edit({ featureEnabled: event.target.checked })}
        />
        Show the checklist on pages
      </label>
      <label>
        On
        <select
          value={settings.scopeMode}
          onChange={(event) => edit({ scopeMode: event.target.value as SyncSettings['scopeMode'] })}
        >
          <option value="all">all sites</option>
          <option value="specific">one site</option>
        </select>
      </label>
      {settings.scopeMode === 'specific' && (
        <label>
          Host
          <input
            value={settings.scopeTargetId ?? ''}
            onChange={(event) => edit({ scopeTargetId: event.target.value })}
          />
        </label>
      )}
      <label>
        Colour
        <input value={settings.themeToken} onChange={(event) => edit({ themeToken: event.target.value })} />
      </label>
      {Object.entries(problems).map(([field, problem]) => (
        <p key={field} role="alert">
          {field}: {problem}
        </p>
      ))}
      {failure && <p role="alert">{failure}</p>}
      <button type="submit" disabled={Object.keys(problems).length > 0}>
        Save
      </button>
      <button type="button" onClick={() => void sync.reset()}>
        Reset the checklist
      </button>
    </form>
  )
}

await show(
  <>
    <h1>Checklist</h1>
    <Settings />
    <Checklist />
  </>,
)

import { type FormEvent, useState } from 'react'
import { useSync, useSyncSettings } from '../../../src/react/index.ts'
import { type SyncSettings, settingsProblems } from '../../../src/sync/index.ts'
import { useActivity } from './activity.tsx'
import { hostOf } from './model.ts'
import { texts } from './texts.ts'

type Fields = Partial<SyncSettings>

/** Only the fields that were edited are saved, so a change of another page to the other fields stays. */
export function SettingsForm() {
  const sync = useSync()
  const { run } = useActivity()
  const stored = useSyncSettings()
  const [edited, setEdited] = useState<Fields>({})
  const settings = { ...stored, ...edited }
  const problems = problemsOf(settings)
  const isEdited = Object.keys(edited).length > 0
  const edit = (fields: Fields) => setEdited((now) => ({ ...now, ...fields }))

  async function save(event: FormEvent): Promise<void> {
    event.preventDefault()
    const { scopeTargetId } = edited
    const host = scopeTargetId !== undefined && { scopeTargetId: hostOf(scopeTargetId) || undefined }
    const isStored = await run(sync.updateSettings({ ...edited, ...host }), texts.notSaved)
    if (isStored) setEdited((now) => without(now, edited))
  }

  return (
    <form className="settings" aria-label={texts.settings} onSubmit={(event) => void save(event)}>
      <label className="switch">
        <input
          type="checkbox"
          checked={settings.featureEnabled}
          onChange={(event) => edit({ featureEnabled: event.target.checked })}
        />
        {texts.showOnPages}
      </label>
      <p className="quiet">{texts.showOnPagesHint}</p>

      <fieldset disabled={!settings.featureEnabled}>
        <legend>{texts.where}</legend>
        {(['all', 'specific'] as const).map((scopeMode) => (
          <label key={scopeMode}>
            <input
              type="radio"
              name="scope"
              checked={settings.scopeMode === scopeMode}
              onChange={() => edit({ scopeMode })}
            />
            {scopeMode === 'all' ? texts.allSites : texts.oneSite}
          </label>
        ))}
        <Field
          name="host"
          label={texts.host}
          hint={texts.hostHint}
          problem={problems.scopeTargetId}
          value={settings.scopeTargetId ?? ''}
          isDisabled={settings.scopeMode === 'all'}
          onChange={(scopeTargetId) => edit({ scopeTargetId })}
        />
      </fieldset>

      <Field
        name="colour"
        label={texts.colour}
        hint={texts.colourHint}
        problem={problems.themeToken}
        value={settings.themeToken}
        onChange={(themeToken) => edit({ themeToken })}
      >
        <input
          type="color"
          aria-label={texts.pickColour}
          value={/^#[\da-f]{6}$/i.test(settings.themeToken) ? settings.themeToken : stored.themeToken}
          onChange={(event) => edit({ themeToken: event.target.value })}
        />
      </Field>

      <div className="actions">
        <button type="submit" className="primary" disabled={!isEdited || Object.keys(problems).length > 0}>
          {texts.save}
        </button>
        <button type="button" disabled={!isEdited} onClick={() => setEdited({})}>
          {texts.discard}
        </button>
        <p className="quiet" role="status">
          {isEdited && texts.unsaved}
        </p>
      </div>
    </form>
  )
}

interface FieldProps {
  readonly name: string
  readonly label: string
  readonly hint: string
  readonly problem: string | undefined
  readonly value: string
  readonly isDisabled?: boolean
  readonly onChange: (value: string) => void
  readonly children?: React.ReactNode
}

/** The hint gives its place to the problem, so nothing moves. */
function Field({ name, label, hint, problem, value, isDisabled, onChange, children }: FieldProps) {
  // An empty field is not yet wrong. It only cannot be saved.
  const isWrong = problem !== undefined && value !== ''
  return (
    <div className="field">
      <label htmlFor={name}>{label}</label>
      <span className="inputs">
        <input
          id={name}
          value={value}
          disabled={isDisabled}
          spellCheck={false}
          aria-invalid={isWrong}
          aria-describedby={`${name}-hint`}
          onChange={(event) => onChange(event.target.value)}
        />
        {children}
      </span>
      <p id={`${name}-hint`} className={isWrong ? 'problem' : 'quiet'} role={isWrong ? 'alert' : undefined}>
        {problem ?? hint}
      </p>
    </div>
  )
}

function problemsOf(settings: SyncSettings): { scopeTargetId?: string; themeToken?: string } {
  const { scopeMode, scopeTargetId = '' } = settings
  return {
    ...(scopeMode === 'specific' && !hostOf(scopeTargetId) && { scopeTargetId: texts.hostProblem }),
    ...('themeToken' in settingsProblems(settings) && { themeToken: texts.colourProblem }),
  }
}

/** The edits that are not yet saved: those that were made while the save ran. */
function without(edited: Fields, saved: Fields): Fields {
  const left = Object.entries(edited).filter(([field, value]) => saved[field as keyof Fields] !== value)
  return Object.fromEntries(left)
}

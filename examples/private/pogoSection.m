function pogoSection(file, name, path)
% pogoSection  Goes to a section of a .pogo-hist or .pogo-field file. Sections stand in the file in a fixed order, so one
% that is not wanted is skipped.
    while true
        found = pogoText(file, 40);
        head = pogoNumber(file, 'int32', 1);
        bytes = pogoNumber(file, 'int64', 1);
        if isempty(head) || isempty(bytes)
            error('%s has no section %s', path, name);
        end
        if strcmp(found, name)
            return
        end
        fseek(file, bytes, 'cof');
    end
end
